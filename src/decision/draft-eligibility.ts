import { noHistory } from '../budgets/caps.ts';
import { type Condition, requiredParts } from '../catalog/conditions.ts';
import { blankOffer } from '../catalog/provisioning.ts';
import type { CampaignRules } from '../catalog/rules.ts';
import type { Offer, Publisher } from '../catalog/types.ts';
import { emptyModel } from '../learning/model.ts';
import { runAtOnce } from '../platform/lib/slices.ts';
import { buildIndex } from './build-index.ts';
import type { Exclusion } from './eligibility.ts';
import { indexExclusions, passIndexFilters } from './index/index-filters.ts';
import { matchesCondition, postExclusions, postFilter } from './rules/post-filters.ts';
import type { DecisionContext, DecisionInput } from './types.ts';

/** Parts of an unsaved campaign that determine for which requests it is eligible. `rules` must be valid. */
export type CampaignDraft = { rules: CampaignRules; isLoyalty: boolean };

/** Returns whether the draft campaign would have been eligible for a past request. */
export function eligibilityOf(draft: CampaignDraft, publisher: Publisher): (context: DecisionContext) => boolean {
  const { index, inputOf } = indexedDraft(draft, publisher);
  const [candidate] = index.candidates;
  if (candidate === undefined) return () => false;
  return (request) => {
    const input = inputOf(request);
    const [passing = 0] = passIndexFilters(index, input.context, false);
    return passing !== 0 && postFilter(candidate, index, input) === null;
  };
}

/**
 * Condition of a draft. For the rule `targeting`, `key` is the targeting list. For `conditions`, it is the index of the
 * condition among those that must all be met. For other rules, it is null.
 */
export type DraftCondition = { rule: Exclusion['rule']; key: string | null };

/** Returns a function that lists all conditions of the draft campaign that a past request does not meet. */
export function unmetConditionsOf(
  draft: CampaignDraft,
  publisher: Publisher,
): (context: DecisionContext) => DraftCondition[] {
  const { conditions, ...rules } = draft.rules;
  const { index, inputOf } = indexedDraft({ ...draft, rules }, publisher);
  const [candidate] = index.candidates;
  if (candidate === undefined) return () => [{ rule: 'rules_invalid', key: null }];
  const parts = requiredParts(conditions);
  return (request) => {
    const input = inputOf(request);
    const exclusions = [
      ...indexExclusions(candidate, index, input.context, false),
      ...postExclusions(candidate, index, input),
    ];
    const unmet = new Map<string, DraftCondition>();
    for (const exclusion of exclusions) {
      const key = exclusion.rule === 'targeting' ? exclusion.key : null;
      unmet.set(`${exclusion.rule} ${key}`, { rule: exclusion.rule, key });
    }
    const failing = [...parts.keys()].filter((at) => !matchesCondition(parts[at] as Condition, request.custom));
    return [...unmet.values(), ...failing.map((at) => ({ rule: 'conditions', key: String(at) }) as const)];
  };
}

/**
 * Builds an index that contains only the draft, for checks of targeting, schedule hours and conditions. Start and end
 * dates, caps and competing offers are ignored.
 */
function indexedDraft(draft: CampaignDraft, publisher: Publisher) {
  const { start_at: _start, end_at: _end, ...schedule } = draft.rules.schedule ?? {};
  const { frequency_caps: _frequency, total_caps: _total, pacing: _pacing, ...rules } = draft.rules;
  const offer = draftOffer({ ...rules, schedule }, draft.isLoyalty, publisher.id);
  // Ignore block rules: they depend on offer properties that the draft's placeholder offer does not have.
  const free = { ...publisher, controls: null };
  const index = runAtOnce(buildIndex({ publisher: free, offers: [offer], timeZoneOf: () => publisher.timeZone }));
  const unrestricted = { surface: 'unit', onlyWithCreative: false, campaignId: null } as const;
  const rest = { publisher, theme: null, history: noHistory, totals: new Map(), model: emptyModel, seed: 0 };
  const inputOf = (request: DecisionContext): DecisionInput => ({ ...rest, context: { ...request, ...unrestricted } });
  return { index, inputOf };
}

function draftOffer(rules: CampaignRules, isLoyalty: boolean, publisherId: number): Offer {
  const provision = { publisherId, active: true, payoutMicros: null, priority: null };
  const provisions = new Map([[publisherId, { ...provision, frequencyCaps: null, totalCaps: null }]]);
  const blank = blankOffer(0, 0, publisherId);
  return { ...blank, active: true, campaign: { ...blank.campaign, active: true, isLoyalty, rules, provisions } };
}
