import { indexOf, run } from './decide.ts';
import type { Candidate } from './index/compile.ts';
import type { DecisionInput } from './types.ts';

/** Outcome of a campaign that was shown. Otherwise, the outcome is the name of the rule that excluded the campaign. */
export const shownOutcome = 'shown';

/**
 * Returns the outcome of a decision for each of the publisher's campaigns: `shown`, or the first rule that the campaign
 * failed. If a campaign has several offers, the offer that passed the most rules determines the outcome.
 */
export function campaignOutcomes(input: DecisionInput): Map<number, string> {
  const { withheld } = indexOf(input.publisher);
  const outcomes = new Map<number, string>();
  const rules = new Map<Candidate, string>();
  const ranked: Candidate[] = [];
  const { offers } = run(input, {
    onExcluded: (candidate, { rule }) => {
      if (!rules.has(candidate)) rules.set(candidate, rule);
    },
    onRanked: ({ candidate }) => {
      ranked.push(candidate);
    },
  });
  const set = (campaignId: number, outcome: string | undefined): void => {
    if (outcome !== undefined && !outcomes.has(campaignId)) outcomes.set(campaignId, outcome);
  };
  for (const { offer } of offers) set(offer.campaign.id, shownOutcome);
  for (const candidate of ranked) set(candidate.offer.campaign.id, rules.get(candidate));
  for (const [candidate, rule] of rules) set(candidate.offer.campaign.id, rule);
  for (const { offer, exclusion } of withheld) set(offer.campaign.id, exclusion.rule);
  return outcomes;
}
