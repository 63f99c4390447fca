import type { Payout } from '../../catalog/types.ts';
import type { Model, Sales } from '../../learning/model.ts';
import {
  relevantProperties,
  type Scope,
  sampledPart,
  scopedRateOf,
  scopeKeyOf,
  scopeOf,
} from '../../learning/score.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { type Comparison, comparisonOf } from '../comparison.ts';
import type { EligibilityIndex, PriorityClass } from '../eligibility.ts';
import type { Candidate } from '../index/compile.ts';
import { salts } from '../random.ts';
import type { DecisionInput } from '../types.ts';
import { drawNormal, type Layer, wholeNormal } from './layers.ts';

/**
 * Distributions of the expected revenue per impression at the first position, in millionths of the payout's currency. A
 * model covers requests of one scope and the candidates of one priority class, by their index in the class. Values are
 * stored in parallel arrays, because a ranking may draw from hundreds of candidates, and object references would cost
 * more than the arithmetic.
 */
export type RevenueModel = {
  scope: Scope;
  candidates: readonly Candidate[];
  /** Index in the candidate list at which the class starts, as in `PriorityClass`. */
  from: number;
  to: number;
  /** Offer IDs, which are used as salts for the random draws. */
  offerIds: Int32Array;
  /**
   * Rows of `rowLength` numbers, one row per candidate, so that a draw needs few memory accesses:
   * - mean (NaN until the candidate is estimated)
   * - mean of the cube root of a draw, in units of the cube root of the mean
   * - standard deviation of the cube root of a draw, in the same units
   * - amount to reserve
   * - amount to reserve, as a share of the full payment
   */
  rows: Float64Array;
  /**
   * Factors for converting payouts to the comparison currency, or null if all payouts have the same currency. A factor
   * is NaN if there is no exchange rate.
   */
  factors: Float64Array | null;
  /** Candidates in order of revenue, or null until first needed. */
  order: RevenueOrder | null;
};

/** All candidates of a priority class, highest revenue first. */
export type RevenueOrder = {
  members: Int32Array;
  /** For each index in the order, the lowest member from that index to the end. */
  lowestMembers: Int32Array;
  /** Cached results of `revenueBoundsBelow`, keyed by layer. */
  bounds: Map<Layer, Float64Array>;
};

/** Sale value assumed until a sale has been reported, in millionths. */
const defaultSaleMicros = 50_000_000;

/**
 * Maximum relative variance. Up to this value, the cube of a normal draw is a good approximation of a Gamma
 * distribution.
 */
const maxVariance = 2;

const rowLength = 5;

/** Maximum number of cached rows per eligibility index and model version. Each row takes up 40 bytes. */
const maxRows = 500_000;

type ByScope = { rows: number; models: Map<string, Map<PriorityClass, RevenueModel>> };
const cachedModels = new WeakMap<Model, WeakMap<EligibilityIndex, ByScope>>();

/**
 * Returns the revenue model of a priority class for a request. The model is created on first use and cached until the
 * version of the ranking model changes.
 */
export function revenueModelOf(
  index: EligibilityIndex,
  priorityClass: PriorityClass,
  { publisher, context, model }: DecisionInput,
): RevenueModel {
  const properties = relevantProperties(model, context, publisher);
  const comparison = comparisonOf(index, publisher, context.nowMs);
  const key = `${scopeKeyOf(context.placement, properties)}${comparison?.key ?? ''}`;
  const byIndex = getOrInsert(cachedModels, model, () => new WeakMap<EligibilityIndex, ByScope>());
  const byScope = getOrInsert(byIndex, index, (): ByScope => ({ rows: 0, models: new Map() }));
  const cached = byScope.models.get(key)?.get(priorityClass);
  if (cached !== undefined) return cached;
  const created = emptyModel(
    index,
    priorityClass,
    scopeOf(model, publisher.id, context.placement, properties),
    comparison,
  );
  byScope.rows += created.offerIds.length;
  if (byScope.rows > maxRows) {
    byScope.rows = created.offerIds.length;
    byScope.models.clear();
  }
  getOrInsert(byScope.models, key, () => new Map<PriorityClass, RevenueModel>()).set(priorityClass, created);
  return created;
}

const emptyModel = (
  { candidates }: EligibilityIndex,
  { from, to }: PriorityClass,
  scope: Scope,
  comparison: Comparison | null,
): RevenueModel => ({
  scope,
  candidates,
  from,
  to,
  offerIds: Int32Array.from(candidates.slice(from, to), ({ offer }) => offer.id),
  rows: new Float64Array((to - from) * rowLength).fill(Number.NaN),
  factors:
    comparison &&
    Float64Array.from(candidates.slice(from, to), ({ payout }) =>
      payout.amountMicros === 0 ? 1 : (comparison.factors.get(payout.currency) ?? Number.NaN),
    ),
  order: null,
});

/**
 * Samples the expected revenue from an impression for a seed (Thompson sampling), in millionths. The posterior is
 * approximated by a Gamma distribution with the same mean and variance, which is sampled as the cube of a normal draw
 * (Wilson and Hilferty). The candidate must have been estimated before.
 * @param layer part of the normal distribution to draw from
 */
export function drawRevenue(model: RevenueModel, at: number, seed: number, layer: Layer = wholeNormal): number {
  return revenueAt(model, at, drawNormal(layer, seed, salts.revenue + (model.offerIds[at] as number)));
}

function revenueAt({ rows, factors }: RevenueModel, at: number, z: number): number {
  const row = at * rowLength;
  const root = (rows[row + 1] as number) + (rows[row + 2] as number) * z;
  const micros = root <= 0 ? 0 : (rows[row] as number) * root * root * root;
  return factors === null ? micros : compared(micros, factors[at] as number);
}

/**
 * Converts an amount for comparison. Amounts without an exchange rate are mapped to the range from -1 to 0, so that
 * they rank below all others and retain their relative order.
 */
const compared = (micros: number, factor: number): number =>
  Number.isNaN(factor) ? -1 / (1 + micros) : micros * factor;

export const meanRevenueOf = ({ rows }: RevenueModel, at: number): number => rows[at * rowLength] as number;

/**
 * Amount to reserve for an impression, in millionths, and its share of the full payment. The share is an upper estimate
 * of the probability of the payment. Both are higher if less is known about the rates.
 */
export type Reserve = { reserveMicros: number; reserveChance: number };

export const reserveOf = ({ rows }: RevenueModel, at: number): Reserve => ({
  reserveMicros: rows[at * rowLength + 3] as number,
  reserveChance: rows[at * rowLength + 4] as number,
});

/** Estimates the candidate at an index of the class, unless it is already estimated. */
export function ensureEstimated(model: RevenueModel, at: number, input: DecisionInput): void {
  if (!Number.isNaN(meanRevenueOf(model, at))) return;
  const { mean, relativeVariance, value, chance } = estimate(
    model.candidates[model.from + at] as Candidate,
    model.scope,
    input.model.sales,
  );
  model.rows.set(
    [mean, 1 - relativeVariance / 9, Math.sqrt(relativeVariance) / 3, value * chance, chance],
    at * rowLength,
  );
}

/**
 * Returns a candidate's mean expected revenue and the possible cost of an impression. Both are zero if the candidate
 * does not pay.
 */
export function expectedRevenueOf(
  index: EligibilityIndex,
  priorityClass: PriorityClass,
  candidate: Candidate,
  input: DecisionInput,
): { meanMicros: number } & Reserve {
  if (candidate.payout.amountMicros === 0) return { meanMicros: 0, reserveMicros: 0, reserveChance: 1 };
  const model = revenueModelOf(index, priorityClass, input);
  const at = candidate.index - priorityClass.from;
  ensureEstimated(model, at, input);
  return { meanMicros: meanRevenueOf(model, at), ...reserveOf(model, at) };
}

/**
 * Number of standard deviations above the mean at which revenues are compared to order candidates. Few draws in a class
 * are this high.
 */
const highNormal = 2;

/**
 * Returns the revenue order of a class. On first use, it estimates all candidates of the class and creates the order.
 */
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

/**
 * Returns upper bounds for draws below a layer. Each bound applies to the candidate at that index and to all later
 * candidates in the order.
 */
export function revenueBoundsBelow(model: RevenueModel, { members, bounds }: RevenueOrder, layer: Layer): Float64Array {
  return getOrInsert(bounds, layer, () => {
    return fromEnd(
      Float64Array.from(members, (member) => revenueAt(model, member, layer.floor)),
      Math.max,
    );
  });
}

/** Combines each value with all values after it. */
function fromEnd<T extends Int32Array | Float64Array>(values: T, combine: (a: number, b: number) => number): T {
  const combined = values.slice() as T;
  for (let at = combined.length - 2; at >= 0; at--)
    combined[at] = combine(combined[at] as number, combined[at + 1] as number);
  return combined;
}

/**
 * Estimates a candidate. The result contains the mean and relative variance (variance divided by the squared mean) of
 * its expected revenue, the payment per paid event, and an upper estimate of the payment's probability.
 */
function estimate(
  { payout, offer }: Candidate,
  scope: Scope,
  sales: Model['sales'],
): { mean: number; relativeVariance: number; value: number; chance: number } {
  const value = payoutValue(payout, sales.get(offer.campaign.id));
  if (payout.kind === 'cpm' || value === 0) return { mean: value, relativeVariance: 0, value, chance: 1 };
  const click = scopedRateOf(scope.click, offer);
  const conversion = payout.kind === 'cpc' ? certain : scopedRateOf(scope.conversion, offer);
  const relativeVariance = (1 + sampledPart / click.shape) * (1 + sampledPart / conversion.shape) - 1;
  return {
    mean: value * Math.min(1, click.mean) * Math.min(1, conversion.mean),
    relativeVariance: Math.min(maxVariance, relativeVariance),
    value,
    chance: click.high * conversion.high,
  };
}

const certain = { mean: 1, shape: Number.POSITIVE_INFINITY, high: 1 };

/** Returns the revenue of a paid event. For `cpm`, that is the revenue per impression. */
function payoutValue({ kind, amountMicros }: Payout, sales: Sales | undefined): number {
  if (kind === 'cpm') return amountMicros / 1000;
  const saleMicros = sales === undefined || sales.count <= 0 ? defaultSaleMicros : sales.micros / sales.count;
  return kind === 'cps' ? (amountMicros / 100_000_000) * saleMicros : amountMicros;
}
