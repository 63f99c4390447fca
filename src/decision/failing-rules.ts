import { whyOff } from './decide.ts';
import { indexOf } from './eligibility.ts';
import type { Exclusion } from './index/exclusion.ts';
import { indexExclusions } from './index/index-filters.ts';
import { type Reason, reasonOf } from './reason.ts';
import { postExclusions } from './rules/post-filters.ts';
import type { DecisionInput } from './types.ts';

/** A rule that an offer fails, and what it says. */
export type FailingRule = { rule: Exclusion['rule']; reason: Reason };

/**
 * Every rule that keeps an offer out of a decision, in the order in which they apply; a decision itself stops at the
 * first. Empty: it takes part, and its rank decides. What competition does is not part of it ({@link explain}).
 */
export function failingRules(input: DecisionInput, offerId: number): FailingRule[] {
  const index = indexOf(input.publisher);
  const toFailing = (exclusion: Exclusion): FailingRule => ({
    rule: exclusion.rule,
    reason: reasonOf(exclusion, candidate ?? null, input),
  });
  const candidate = index.candidates.find(({ offer }) => offer.id === offerId);
  if (candidate === undefined)
    return index.withheld.filter(({ offer }) => offer.id === offerId).map(({ rule }) => toFailing({ rule }));
  const relaxed = input.context.dev || input.publisher.testMode;
  const off = whyOff(input, relaxed);
  return [
    ...(off === null ? [] : [{ rule: off } as const]),
    ...indexExclusions(candidate, index, input.context, relaxed),
    ...(relaxed ? [] : postExclusions(candidate, index, input)),
  ].map(toFailing);
}
