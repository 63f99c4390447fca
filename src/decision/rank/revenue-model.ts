import type { Payout } from '../../catalog/types.ts';
import { ratePosteriorsOf } from '../../learning/rate-posteriors.ts';
import type { Posteriors } from '../../learning/types.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import type { EligibilityIndex, PriorityClass } from '../eligibility.ts';
import type { Candidate } from '../index/compile.ts';
import { salts } from '../random.ts';
import type { DecisionInput } from '../types.ts';
import { drawNormal, type Layer, wholeNormal } from './layers.ts';

/**
 * Distributions of the expected revenue of one impression at a placement, in millionths of the payout's currency, for
 * the candidates of a priority class by their place in it. Parallel arrays: a ranking may draw hundreds, and following
 * objects would cost more than the arithmetic.
 */
export type RevenueModel = {
  candidates: readonly Candidate[];
  /** The class in the index, as in `PriorityClass`. */
  from: number;
  to: number;
  /** Salts of the draws. */
  offerIds: Int32Array;
  /**
   * Rows of `rowLength`: mean (NaN until the candidate is estimated), then mean and standard deviation of the cube root
   * of a draw, in units of the cube root of the mean. Rows, because a draw of one in thousands waits for its memory.
   */
  rows: Float64Array;
  /** null: not made yet. */
  order: RevenueOrder | null;
};

/** All candidates of a class, those of high revenue first. */
export type RevenueOrder = {
  members: Int32Array;
  /** The lowest of each member and those after it. */
  lowestMembers: Int32Array;
  /** `revenueBoundsBelow` by layer. */
  bounds: Map<Layer, Float64Array>;
};

/** Value of a sale where none is known yet, in millionths. */
const defaultSaleMicros = 50_000_000;

/**
 * Counts enter the posteriors this many times. Sharper posteriors explore less: in simulation the regret is 0.4 to 0.6
 * of that of a fixed 10 % exploration, against 0.5 to 1.0 with 1; above 2 the second best offer sometimes stays first.
 */
const posteriorSharpness = 2;

const rowLength = 3;

/** Placements whose models are kept, for one index and one state of the posteriors. */
const maxPlacements = 32;

type ByPlacement = Map<string, Map<PriorityClass, RevenueModel>>;
const models = new WeakMap<Posteriors, WeakMap<EligibilityIndex, ByPlacement>>();

/** The model of a class at a placement, made when first asked for and kept as long as the posteriors and the index. */
export function revenueModelOf(
  index: EligibilityIndex,
  priorityClass: PriorityClass,
  { context: { placement }, posteriors }: DecisionInput,
): RevenueModel {
  const byIndex = getOrInsert(models, posteriors, () => new WeakMap<EligibilityIndex, ByPlacement>());
  const byPlacement = getOrInsert(byIndex, index, (): ByPlacement => new Map());
  if (byPlacement.size >= maxPlacements && !byPlacement.has(placement)) byPlacement.clear();
  const byClass = getOrInsert(byPlacement, placement, () => new Map<PriorityClass, RevenueModel>());
  return getOrInsert(byClass, priorityClass, () => emptyModel(index, priorityClass));
}

const emptyModel = ({ candidates }: EligibilityIndex, { from, to }: PriorityClass): RevenueModel => ({
  candidates,
  from,
  to,
  offerIds: Int32Array.from(candidates.slice(from, to), ({ offer }) => offer.id),
  rows: new Float64Array((to - from) * rowLength).fill(Number.NaN),
  order: null,
});

/**
 * Expected revenue of one impression as sampled for a seed (Thompson sampling), in millionths. The posterior is
 * approximated by a Gamma distribution of the same mean and variance, and its draw by the cube of a normal one (Wilson
 * and Hilferty). The candidate must have been estimated.
 * @param layer the part of the distribution to draw from
 */
export function drawRevenue(model: RevenueModel, at: number, seed: number, layer: Layer = wholeNormal): number {
  return revenueAt(model, at, drawNormal(layer, seed, salts.revenue + (model.offerIds[at] as number)));
}

function revenueAt({ rows }: RevenueModel, at: number, z: number): number {
  const row = at * rowLength;
  const root = (rows[row + 1] as number) + (rows[row + 2] as number) * z;
  return root <= 0 ? 0 : (rows[row] as number) * root * root * root;
}

export const meanRevenueOf = ({ rows }: RevenueModel, at: number): number => rows[at * rowLength] as number;

/** Fills in the model for the candidate at a place, unless it was. */
export function ensureEstimated(model: RevenueModel, at: number, input: DecisionInput): void {
  if (!Number.isNaN(meanRevenueOf(model, at))) return;
  const { mean, relativeVariance } = estimate(model.candidates[model.from + at] as Candidate, input);
  model.rows.set([mean, 1 - relativeVariance / 9, Math.sqrt(relativeVariance) / 3], at * rowLength);
}

/** Candidates are ordered by their revenue at this draw, at which few are among the best (standard deviations). */
const highNormal = 2;

/** The order of a class, made when first asked for: all its candidates are estimated. */
export function revenueOrderOf(model: RevenueModel, input: DecisionInput): RevenueOrder {
  if (model.order === null) {
    const high = Float64Array.from(model.offerIds, (_, at) => {
      ensureEstimated(model, at, input);
      return revenueAt(model, at, highNormal);
    });
    const members = Int32Array.from(high, (_, at) => at);
    members.sort((a, b) => (high[b] as number) - (high[a] as number) || a - b);
    model.order = { members, lowestMembers: fromEnd(members, Math.min), bounds: new Map() };
  }
  return model.order;
}

/** For each place of an order: no draw below a layer, of this candidate or those after it, is higher. */
export function revenueBoundsBelow(model: RevenueModel, { members, bounds }: RevenueOrder, layer: Layer): Float64Array {
  return getOrInsert(bounds, layer, () => {
    return fromEnd(
      Float64Array.from(members, (member) => revenueAt(model, member, layer.floor)),
      Math.max,
    );
  });
}

/** Each value combined with all after it. */
function fromEnd<T extends Int32Array | Float64Array>(values: T, combine: (a: number, b: number) => number): T {
  const combined = values.slice() as T;
  for (let at = combined.length - 2; at >= 0; at--)
    combined[at] = combine(combined[at] as number, combined[at + 1] as number);
  return combined;
}

/** Mean of the expected revenue, and its variance divided by the squared mean. */
function estimate(
  candidate: Candidate,
  { publisher, context, posteriors }: DecisionInput,
): { mean: number; relativeVariance: number } {
  const { payout, offer } = candidate;
  let mean = payoutValue(payout, posteriors.averageSaleMicros.get(offer.campaign.id) ?? defaultSaleMicros);
  let relativeVariance = 0;
  if (payout.kind === 'cpm' || mean === 0) return { mean, relativeVariance };
  const { click, conversion } = ratePosteriorsOf(candidate, publisher.id, context.placement, posteriors);
  for (const { a, b } of payout.kind === 'cpc' ? [click] : [click, conversion]) {
    mean *= a / (a + b);
    const ofRate = b / (a * (posteriorSharpness * (a + b) + 1));
    relativeVariance = (1 + relativeVariance) * (1 + ofRate) - 1;
  }
  return { mean, relativeVariance };
}

/** Revenue of the event that is paid; of an impression for `cpm`. */
function payoutValue({ kind, amountMicros }: Payout, saleMicros: number): number {
  if (kind === 'cpm') return amountMicros / 1000;
  return kind === 'cps' ? (amountMicros / 100_000_000) * saleMicros : amountMicros;
}
