import type { Payout } from '../../catalog/snapshot/types.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import type { Candidate } from '../index/compile.ts';
import type { EligibilityIndex, PriorityClass } from '../index/eligibility.ts';
import { maxNormal, salts, standardNormal } from '../random.ts';
import type { DecisionInput, Posteriors } from '../types.ts';
import { ratePosteriorsOf } from './rate-posteriors.ts';

/**
 * Distributions of the expected revenue of one impression at a placement, in millionths of the payout's currency, for
 * the candidates of a priority class by their place in it. Parallel arrays: a ranking may draw hundreds, and following
 * objects would cost more than the arithmetic.
 */
export type RevenueModel = {
  /** Salts of the draws. */
  offerIds: Int32Array;
  mean: Float64Array;
  /** Mean and standard deviation of the cube root of a draw, in units of the cube root of `mean`. */
  rootMean: Float64Array;
  rootDeviation: Float64Array;
  /** The highest possible draw; NaN until the candidate is estimated. */
  max: Float64Array;
};

/** Value of a sale where none is known yet, in millionths. */
const defaultSaleMicros = 50_000_000;

/**
 * Counts enter the posteriors this many times. Sharper posteriors explore less: in simulation the regret is 0.4 to 0.6
 * of that of a fixed 10 % exploration, against 0.5 to 1.0 with 1; above 2 the second best offer sometimes stays first.
 */
const posteriorSharpness = 2;

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

function emptyModel({ candidates }: EligibilityIndex, { from, to }: PriorityClass): RevenueModel {
  const size = to - from;
  return {
    offerIds: Int32Array.from(candidates.slice(from, to), ({ offer }) => offer.id),
    mean: new Float64Array(size),
    rootMean: new Float64Array(size),
    rootDeviation: new Float64Array(size),
    max: new Float64Array(size).fill(Number.NaN),
  };
}

/**
 * Expected revenue of one impression as sampled for a seed (Thompson sampling), in millionths. The posterior is
 * approximated by a Gamma distribution of the same mean and variance, and its draw by the cube of a normal one (Wilson
 * and Hilferty). The candidate must have been estimated.
 */
export function drawRevenue(model: RevenueModel, at: number, seed: number): number {
  const z = standardNormal(seed, salts.revenue + (model.offerIds[at] as number));
  return revenueAt(model, at, z);
}

function revenueAt({ mean, rootMean, rootDeviation }: RevenueModel, at: number, z: number): number {
  const root = (rootMean[at] as number) + (rootDeviation[at] as number) * z;
  return root <= 0 ? 0 : (mean[at] as number) * root * root * root;
}

/** Fills in the model for the candidate at a place. */
export function estimateRevenue(model: RevenueModel, at: number, candidate: Candidate, input: DecisionInput): void {
  const { mean, relativeVariance } = estimate(candidate, input);
  model.mean[at] = mean;
  model.rootMean[at] = 1 - relativeVariance / 9;
  model.rootDeviation[at] = Math.sqrt(relativeVariance) / 3;
  model.max[at] = revenueAt(model, at, maxNormal);
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
