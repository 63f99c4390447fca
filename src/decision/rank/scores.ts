import type { Offer, Payout } from '../../catalog/snapshot/types.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import type { Candidate } from '../index/compile.ts';
import type { EligibilityIndex } from '../index/eligibility.ts';
import type { Posteriors } from '../types.ts';
import { type Belief, type Beta, beliefOf } from './beliefs.ts';
import { firstNormal, highestNormal, mix, salts, secondNormal } from './random.ts';

/** What one impression of a candidate is expected to earn at a placement, in millionths of the currency. */
export type Estimate = {
  mean: number;
  /** Standard deviation of what is believed of the mean. */
  spread: number;
  /** Revenue of an impression in which everything chance decides happens. */
  value: number;
  /** null: it does not depend on clicks, or not on conversions. */
  click: BetaDraw | null;
  conversion: BetaDraw | null;
};

/** Average sale where none is known yet, in millionths. */
const usualSaleMicros = 50_000_000;

/**
 * How often what is known counts when it is drawn from. Draws a little closer together than belief has them lose less
 * by
 * trying: in simulation 0.4 to 0.6 of what a fixed tenth of tries loses, against 0.5 to 1.0 with 1. Beyond 2 they now
 * and
 * then hold on to the second best.
 */
const boldness = 2;

const bolder = ({ a, b }: Beta): Beta => ({ a: a * boldness, b: b * boldness });

/** Candidates of a class that pays, highest possible draw first: who cannot reach the best so far need not be drawn. */
export type Ranking = {
  /** Candidates by their index. */
  order: Int32Array;
  /** Where in the order a candidate is, counted from the first of the class. */
  placeOf: Int32Array;
  /** 0, 1, 2 and so on. */
  everyPlace: Int32Array;
  /** The highest score each can draw, falling. */
  bounds: Float64Array;
  estimates: readonly Estimate[];
  draws: Draws;
};

/**
 * What drawing needs, place by place in rows of plain numbers: a class where little is known yet is drawn as a whole,
 * and
 * following objects from place to place costs four times the arithmetic.
 */
export type Draws = {
  /**
   * `rowLength` numbers for each place: the value, then base and step of both Gamma draws for clicks, and for
   * conversions.
   */
  rows: Float64Array;
  /** What chance decides: 0 nothing, 1 clicks, 2 clicks and conversions. */
  chances: Uint8Array;
  offerIds: Int32Array;
};

const rowLength = 9;

/** Placements whose rankings are kept at once, for one index and one state of the posteriors. */
const maxPlacements = 32;

type Rankings = (Ranking | undefined)[];
const kept = new WeakMap<Posteriors, WeakMap<EligibilityIndex, Map<string, Rankings>>>();

/** The ranking of a class at a placement, made when first asked for and kept as long as the posteriors. */
export function rankingOf(
  index: EligibilityIndex,
  classNo: number,
  at: { publisherId: number; placement: string },
  posteriors: Posteriors,
): Ranking {
  const byIndex = getOrInsert(kept, posteriors, () => new WeakMap<EligibilityIndex, Map<string, Rankings>>());
  const byPlacement = getOrInsert(byIndex, index, () => new Map<string, Rankings>());
  if (byPlacement.size >= maxPlacements && !byPlacement.has(at.placement)) byPlacement.clear();
  const rankings = getOrInsert(byPlacement, at.placement, () => []);
  let ranking = rankings[classNo];
  if (ranking === undefined) {
    const first = index.classEnds[classNo - 1] ?? 0;
    const bounds = boundsOf(at, posteriors);
    const members = index.candidates.slice(first, index.classEnds[classNo]).map((candidate) => ({
      index: candidate.index,
      offerId: candidate.offer.id,
      ...getOrInsert(bounds, candidate.offer, () => {
        const estimate = makeEstimate(candidate, at.publisherId, at.placement, posteriors);
        return { estimate, bound: highestScore(estimate) };
      }),
    }));
    ranking = rank(members, first);
    rankings[classNo] = ranking;
  }
  return ranking;
}

/** `bound`: the score no draw exceeds. */
type Bounded = { estimate: Estimate; bound: number };

/**
 * Where an offer stays the same from one catalogue to the next, so does what it is believed to earn: a change of one
 * costs one.
 */
const keptBounds = new WeakMap<Posteriors, Map<string, WeakMap<Offer, Bounded>>>();

function boundsOf(
  { publisherId, placement }: { publisherId: number; placement: string },
  posteriors: Posteriors,
): WeakMap<Offer, Bounded> {
  const byPlace = getOrInsert(keptBounds, posteriors, () => new Map<string, WeakMap<Offer, Bounded>>());
  const place = `${publisherId} ${placement}`;
  if (byPlace.size >= maxPlacements && !byPlace.has(place)) byPlace.clear();
  return getOrInsert(byPlace, place, () => new WeakMap<Offer, Bounded>());
}

/** @param first index of the first of the class */
function rank(bounded: (Bounded & { index: number; offerId: number })[], first: number): Ranking {
  bounded.sort((a, b) => b.bound - a.bound || a.index - b.index);
  const order = Int32Array.from(bounded, ({ index }) => index);
  const placeOf = new Int32Array(order.length);
  for (const [place, index] of order.entries()) placeOf[index - first] = place;
  return {
    order,
    placeOf,
    everyPlace: order.map((_, place) => place),
    bounds: Float64Array.from(bounded, ({ bound }) => bound),
    estimates: bounded.map(({ estimate }) => estimate),
    draws: drawsOf(bounded),
  };
}

function drawsOf(members: readonly { offerId: number; estimate: Estimate }[]): Draws {
  const rows = new Float64Array(members.length * rowLength);
  for (const [place, { estimate }] of members.entries()) {
    const row = place * rowLength;
    rows[row] = estimate.value;
    if (estimate.click !== null) writeDraw(rows, row + 1, estimate.click);
    if (estimate.conversion !== null) writeDraw(rows, row + 5, estimate.conversion);
  }
  return {
    rows,
    chances: Uint8Array.from(members, ({ estimate }) =>
      estimate.click === null ? 0 : estimate.conversion === null ? 1 : 2,
    ),
    offerIds: Int32Array.from(members, ({ offerId }) => offerId),
  };
}

function writeDraw(rows: Float64Array, at: number, { aBase, aStep, bBase, bStep }: BetaDraw): void {
  rows[at] = aBase;
  rows[at + 1] = aStep;
  rows[at + 2] = bBase;
  rows[at + 3] = bStep;
}

function makeEstimate(candidate: Candidate, publisherId: number, placement: string, posteriors: Posteriors): Estimate {
  const { payout, offer } = candidate;
  const value = valueOfPayout(payout, posteriors.averageSaleMicros.get(offer.campaign.id) ?? usualSaleMicros);
  if (payout.kind === 'cpm' || value === 0) return { mean: value, spread: 0, value, click: null, conversion: null };
  const { click, conversion } = beliefOf(candidate, publisherId, placement, posteriors);
  const belief = { click: bolder(click), conversion: bolder(conversion) };
  const converts = payout.kind !== 'cpc';
  return {
    value,
    ...momentsOf(value, belief, converts),
    click: betaDraw(belief.click),
    conversion: converts ? betaDraw(belief.conversion) : null,
  };
}

function valueOfPayout({ kind, amountMicros }: Payout, averageSaleMicros: number): number {
  if (kind === 'cpm') return amountMicros / 1000;
  return kind === 'cps' ? (amountMicros / 100_000_000) * averageSaleMicros : amountMicros;
}

function momentsOf(value: number, { click, conversion }: Belief, converts: boolean): { mean: number; spread: number } {
  const parts = converts ? [click, conversion] : [click];
  let [mean, relative] = [value, 0];
  for (const { a, b } of parts) {
    mean *= a / (a + b);
    relative += b / (a * (a + b + 1)); // squared standard deviation by the squared mean
  }
  return { mean, spread: mean * Math.sqrt(relative) };
}

/**
 * A draw of a Beta distribution is a share of two Gamma draws, and a Gamma draw is nearly the cube of a normal one
 * (Wilson and Hilferty): two looks at a table, no loop.
 */
type BetaDraw = { aBase: number; aStep: number; bBase: number; bStep: number };

/** The least cube root of a Gamma draw. */
const least = 1e-9;

export function betaDraw({ a, b }: Beta): BetaDraw {
  return {
    aBase: Math.cbrt(a) * (1 - 1 / (9 * a)),
    aStep: Math.cbrt(a) / (3 * Math.sqrt(a)),
    bBase: Math.cbrt(b) * (1 - 1 / (9 * b)),
    bStep: Math.cbrt(b) / (3 * Math.sqrt(b)),
  };
}

export const drawBeta = (draw: BetaDraw, bits: number): number => shareOf(draw, firstNormal(bits), secondNormal(bits));

function shareOf({ aBase, aStep, bBase, bStep }: BetaDraw, forA: number, forB: number): number {
  const a = Math.max(least, aBase + aStep * forA);
  const b = Math.max(least, bBase + bStep * forB);
  const hits = a * a * a;
  return hits / (hits + b * b * b);
}

/** The score no draw exceeds. */
function highestScore({ value, click, conversion }: Estimate): number {
  const clicked = click === null ? value : value * shareOf(click, highestNormal, -highestNormal);
  return conversion === null ? clicked : clicked * shareOf(conversion, highestNormal, -highestNormal);
}

/** Expected revenue of one impression as drawn for a seed (Thompson sampling), in millionths. */
export function drawScore({ rows, chances, offerIds }: Draws, place: number, seed: number): number {
  const row = place * rowLength;
  const value = rows[row] as number;
  const chance = chances[place] as number;
  if (chance === 0) return value;
  const offerId = offerIds[place] as number;
  const clicked = value * drawShare(rows, row + 1, mix(seed, salts.click + offerId));
  return chance === 1 ? clicked : clicked * drawShare(rows, row + 5, mix(seed, salts.conversion + offerId));
}

function drawShare(rows: Float64Array, at: number, bits: number): number {
  const a = Math.max(least, (rows[at] as number) + (rows[at + 1] as number) * firstNormal(bits));
  const b = Math.max(least, (rows[at + 2] as number) + (rows[at + 3] as number) * secondNormal(bits));
  const hits = a * a * a;
  return hits / (hits + b * b * b);
}
