import { nameOfKey } from '../learning/properties.ts';
import { effectsOf, relevantProperties, scopeOf } from '../learning/score.ts';
import { comparisonOf } from './comparison.ts';
import type { EligibilityIndex } from './eligibility.ts';
import type { Candidate } from './index/compile.ts';
import type { DecisionInput } from './types.ts';

/** Request property that affected an offer's score, and the factor by which the score changed. */
export type Influence = { property: string; value: string; factor: number };

/**
 * Maximum number of influences to list. `least` is the minimum effect that is listed, as the logarithm of the factor.
 */
const maxNamed = 3;
const least = 0.02;

/** Returns the request properties that affect an offer's expected revenue most, strongest first. */
export function influencesOf({ offer, payout }: Candidate, { publisher, context, model }: DecisionInput): Influence[] {
  if (payout.kind === 'cpm' || payout.amountMicros === 0) return [];
  const scope = scopeOf(model, publisher.id, context.placement, relevantProperties(model, context, publisher));
  const effects = [scope.click, ...(payout.kind === 'cpc' ? [] : [scope.conversion])].flatMap((rateModel) =>
    effectsOf(rateModel, offer),
  );
  const sums = new Map<string, { value: string; sum: number }>();
  for (const { property, mean } of effects)
    sums.set(property.key, { value: property.value, sum: (sums.get(property.key)?.sum ?? 0) + mean });
  return [...sums]
    .filter(([, { sum }]) => Math.abs(sum) >= least)
    .sort(([, a], [, b]) => Math.abs(b.sum) - Math.abs(a.sum))
    .slice(0, maxNamed)
    .map(([key, { value, sum }]) => ({ property: nameOfKey(key), value, factor: Math.exp(sum) }));
}

/** Name under which the exchange rate for comparing a payout is listed as a property. */
export const exchangeProperty = 'exchange_rate';

/**
 * Returns the exchange rate used to compare a payout in another currency. Factor 0 means that there is no exchange
 * rate, so the offer ranks after all offers that can be compared.
 */
export function exchangeInfluence({ payout }: Candidate, { publisher, context }: DecisionInput): Influence[] {
  const comparison = comparisonOf(publisher.index as EligibilityIndex, publisher, context.nowMs);
  if (comparison === null || payout.amountMicros === 0 || payout.currency === comparison.currency) return [];
  const factor = comparison.factors.get(payout.currency) ?? 0;
  return [{ property: exchangeProperty, value: `${payout.currency}/${comparison.currency}`, factor }];
}
