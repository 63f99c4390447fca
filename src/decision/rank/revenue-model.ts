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
 * Distributions of the expected revenue of one impression on the first position, in millionths of the payout's
 * currency, for requests of one scope, for the candidates of a priority class by their place in it. Parallel arrays: a
 * ranking may draw hundreds, and following objects would cost more than the arithmetic.
 */
export type RevenueModel = {
  scope: Scope;
  candidates: readonly Candidate[];
  /** The class in the index, as in `PriorityClass`. */
  from: number;
  to: number;
  /** Salts of the draws. */
  offerIds: Int32Array;
  /**
   * Rows of `rowLength`: mean (NaN until the candidate is estimated), then mean and standard deviation of the cube root
   * of a draw, in units of the cube root of the mean, then what to reserve, and its part of what is paid at most. Rows,
   * because a draw of one in thousands waits for its memory.
   */
  rows: Float64Array;
  /** Factors to the currency that amounts are compared in; NaN: no exchange rate. null: all pay in one currency. */
  factors: Float64Array | null;
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

/** The cube of a normal draw is close to a Gamma distribution up to this relative variance. */
const maxVariance = 2;

const rowLength = 5;

/** Rows that are kept, for one index and one version of the model (count): 40 bytes each. */
const maxRows = 500_000;

type ByScope = { rows: number; models: Map<string, Map<PriorityClass, RevenueModel>> };
const kept = new WeakMap<Model, WeakMap<EligibilityIndex, ByScope>>();

/** The model of a class for a request, made when first asked for and kept as long as the model's version. */
export function revenueModelOf(
  index: EligibilityIndex,
  priorityClass: PriorityClass,
  { publisher, context, model }: DecisionInput,
): RevenueModel {
  const properties = relevantProperties(model, context, publisher);
  const comparison = comparisonOf(index, publisher, context.nowMs);
  const key = `${scopeKeyOf(context.placement, properties)}${comparison?.key ?? ''}`;
  const byIndex = getOrInsert(kept, model, () => new WeakMap<EligibilityIndex, ByScope>());
  const byScope = getOrInsert(byIndex, index, (): ByScope => ({ rows: 0, models: new Map() }));
  const found = byScope.models.get(key)?.get(priorityClass);
  if (found !== undefined) return found;
  const made = emptyModel(
    index,
    priorityClass,
    scopeOf(model, publisher.id, context.placement, properties),
    comparison,
  );
  byScope.rows += made.offerIds.length;
  if (byScope.rows > maxRows) {
    byScope.rows = made.offerIds.length;
    byScope.models.clear();
  }
  getOrInsert(byScope.models, key, () => new Map<PriorityClass, RevenueModel>()).set(priorityClass, made);
  return made;
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
 * Expected revenue of one impression as sampled for a seed (Thompson sampling), in millionths. The posterior is
 * approximated by a Gamma distribution of the same mean and variance, and its draw by the cube of a normal one (Wilson
 * and Hilferty). The candidate must have been estimated.
 * @param layer the part of the distribution to draw from
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

/** An amount that cannot be compared is below all others, and keeps its order among its like: from -1 to 0. */
const compared = (micros: number, factor: number): number =>
  Number.isNaN(factor) ? -1 / (1 + micros) : micros * factor;

export const meanRevenueOf = ({ rows }: RevenueModel, at: number): number => rows[at * rowLength] as number;

/** What an impression may cost, in millionths, and the chance of it: the higher, the less is known of the rates. */
export type Reserve = { reserveMicros: number; reserveChance: number };

export const reserveOf = ({ rows }: RevenueModel, at: number): Reserve => ({
  reserveMicros: rows[at * rowLength + 3] as number,
  reserveChance: rows[at * rowLength + 4] as number,
});

/** Fills in the model for the candidate at a place, unless it was. */
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

/** Mean of the expected revenue of a candidate of a class, and what it may cost; nothing where it does not pay. */
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

/** Mean of the expected revenue, its variance divided by the squared mean, what is paid, and the chance taken high. */
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

/** Revenue of the event that is paid; of an impression for `cpm`. */
function payoutValue({ kind, amountMicros }: Payout, sales: Sales | undefined): number {
  if (kind === 'cpm') return amountMicros / 1000;
  const saleMicros = sales === undefined || sales.count <= 0 ? defaultSaleMicros : sales.micros / sales.count;
  return kind === 'cps' ? (amountMicros / 100_000_000) * saleMicros : amountMicros;
}
