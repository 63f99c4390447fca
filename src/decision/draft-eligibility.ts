import { noHistory } from '../budgets/caps.ts';
import { blankOffer } from '../catalog/provisioning.ts';
import type { CampaignRules } from '../catalog/rules.ts';
import type { Offer, Publisher } from '../catalog/types.ts';
import { emptyModel } from '../learning/model.ts';
import { buildIndex } from './build-index.ts';
import { passIndexFilters } from './index/index-filters.ts';
import { postFilter } from './rules/post-filters.ts';
import type { DecisionContext } from './types.ts';

/** Parts of an unsaved campaign that determine for which requests it is eligible. `rules` must be valid. */
export type CampaignDraft = { rules: CampaignRules; isLoyalty: boolean };

/**
 * Returns a function that checks whether the draft campaign would have been eligible for a past request. It checks
 * targeting, schedule hours and conditions, but ignores start and end dates, caps and competing offers.
 */
export function eligibilityOf(draft: CampaignDraft, publisher: Publisher): (context: DecisionContext) => boolean {
  const { start_at: _start, end_at: _end, ...schedule } = draft.rules.schedule ?? {};
  const { frequency_caps: _frequency, total_caps: _total, pacing: _pacing, ...rules } = draft.rules;
  const offer = draftOffer({ ...rules, schedule }, draft.isLoyalty, publisher.id);
  // Ignore block rules: they depend on offer properties that the draft's placeholder offer does not have.
  const free = { ...publisher, controls: null };
  const building = buildIndex({ publisher: free, offers: [offer], timeZoneOf: () => publisher.timeZone });
  let step = building.next();
  while (step.done !== true) step = building.next();
  const index = step.value;
  const [candidate] = index.candidates;
  if (candidate === undefined) return () => false;
  const unrestricted = { surface: 'unit', onlyWithCreative: false, campaignId: null } as const;
  const rest = { publisher, theme: null, history: noHistory, totals: new Map(), model: emptyModel, seed: 0 };
  return (request) => {
    const context = { ...request, ...unrestricted };
    const [passing = 0] = passIndexFilters(index, context, false);
    return passing !== 0 && postFilter(candidate, index, { ...rest, context }) === null;
  };
}

function draftOffer(rules: CampaignRules, isLoyalty: boolean, publisherId: number): Offer {
  const provision = { publisherId, active: true, payoutMicros: null, priority: null };
  const provisions = new Map([[publisherId, { ...provision, frequencyCaps: null, totalCaps: null }]]);
  const blank = blankOffer(0, 0, publisherId);
  return { ...blank, active: true, campaign: { ...blank.campaign, active: true, isLoyalty, rules, provisions } };
}
