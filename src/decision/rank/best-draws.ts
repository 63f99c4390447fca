import type { Bits } from '../eligibility.ts';
import { clearBit, hasBit, nextBit } from '../index/index-filters.ts';
import { mix, salts } from '../random.ts';
import type { DecisionInput } from '../types.ts';
import { drawMisses, type Layer, layersFor } from './layers.ts';
import {
  drawRevenue,
  ensureEstimated,
  type RevenueModel,
  revenueBoundsBelow,
  revenueOrderOf,
} from './revenue-model.ts';

type DrawOptions = {
  model: RevenueModel;
  /** Candidates that passed the index filters, as a bit set. */
  bits: Bits;
  /** Number of candidates in `bits` that belong to the priority class. */
  count: number;
  input: DecisionInput;
};

/**
 * Adds the candidates with the best draws of a priority class to `top`. In a small class, every candidate is drawn. In
 * a large class, draws are made layer by layer, from the top of the normal distribution. If a candidate's draw is in no
 * higher layer, it is in the current layer with a fixed probability, independently of other candidates. The gaps
 * between candidates in a layer therefore have a geometric distribution, and drawing the gaps finds these candidates
 * without testing each one. Candidates whose draws in the remaining layers could not be among the best are skipped. The
 * result has the same distribution as if every candidate were drawn, but the running time hardly grows with their
 * number. Draws do not depend on the number of requested results.
 */
export function bestDraws(options: DrawOptions, top: Top): Top {
  const [highest, ...lower] = layersFor(options.count);
  if (highest === undefined) drawAll(options, top);
  else drawLayers(options, highest, lower, top);
  if (!isInsertable(top)) sortDraws(top);
  return top;
}

function drawAll({ model, bits, input }: DrawOptions, top: Top): void {
  const { from, to } = model;
  for (let bit = nextBit(bits, from, to); bit !== -1; bit = nextBit(bits, bit + 1, to)) {
    ensureEstimated(model, bit - from, input);
    add(top, drawRevenue(model, bit - from, input.seed), bit - from);
  }
}

function drawLayers({ model, bits, input }: DrawOptions, highest: Layer, lower: readonly Layer[], top: Top): void {
  const { from, to } = model;
  const undrawn = bits.slice();
  const classSeed = mix(input.seed, salts.layers + from);
  const draw = (layer: Layer, bit: number): void => {
    add(top, drawRevenue(model, bit - from, input.seed, layer), bit - from);
    clearBit(undrawn, bit);
  };
  const highestSeed = mix(classSeed, 0);
  for (let trial = 0, bit = from - 1; ; trial++) {
    bit = nextBit(bits, bit + 1, to, drawMisses(highest, highestSeed, trial));
    if (bit === -1) break;
    ensureEstimated(model, bit - from, input);
    draw(highest, bit);
  }
  const order = revenueOrderOf(model, input);
  const { members, lowestMembers } = order;
  let above = highest;
  for (const layer of lower) {
    const bounds = revenueBoundsBelow(model, order, above);
    const seed = mix(classSeed, layer.depth);
    for (let trial = 0, at = 0; ; trial++, at++) {
      if (!layer.isLowest) at += drawMisses(layer, seed, trial);
      if (at >= members.length) break;
      const bit = from + (members[at] as number);
      if (!hasBit(undrawn, bit)) continue;
      if (isFullAbove(top, bounds[at] as number, lowestMembers[at] as number)) break;
      draw(layer, bit);
    }
    above = layer;
  }
}

/**
 * Best draws found so far, at most `limit`, highest score first. Draws with equal scores are sorted by member. If the
 * limit is infinity, the draws are sorted at the end.
 */
export type Top = {
  readonly limit: number;
  readonly after: Draw;
  scores: number[];
  members: number[];
};

type Draw = { score: number; member: number };

/**
 * Creates an empty list of draws.
 * @param after only draws that rank after this draw are added
 */
export const createTop = (limit: number, after: Draw): Top => ({ limit, after, scores: [], members: [] });

/** Whether the list is full and all its draws rank before the given draw. */
function isFullAbove({ limit, scores, members }: Top, score: number, member: number): boolean {
  if (scores.length < limit) return false;
  const lowest = scores[limit - 1] as number;
  return score < lowest || (score === lowest && member > (members[limit - 1] as number));
}

/** Whether draws are inserted at their position. In a list without a limit, that would take quadratic time. */
const isInsertable = ({ limit }: Top): boolean => limit !== Number.POSITIVE_INFINITY;

function add(top: Top, score: number, member: number): void {
  const { limit, after, scores, members } = top;
  if (score > after.score || (score === after.score && member <= after.member) || isFullAbove(top, score, member))
    return;
  if (!isInsertable(top)) {
    scores.push(score);
    members.push(member);
    return;
  }
  let at = Math.min(scores.length, limit - 1);
  for (; at > 0 && isBefore(score, member, scores[at - 1] as number, members[at - 1] as number); at--) {
    scores[at] = scores[at - 1] as number;
    members[at] = members[at - 1] as number;
  }
  scores[at] = score;
  members[at] = member;
}

function sortDraws(top: Top): void {
  const { scores, members } = top;
  const order = scores.map((_, at) => at);
  const [scoreAt, memberAt] = [(at: number) => scores[at] as number, (at: number) => members[at] as number];
  order.sort((a, b) => scoreAt(b) - scoreAt(a) || memberAt(a) - memberAt(b));
  top.scores = order.map(scoreAt);
  top.members = order.map(memberAt);
}

const isBefore = (score: number, member: number, otherScore: number, other: number): boolean =>
  score > otherScore || (score === otherScore && member < other);
