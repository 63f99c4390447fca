import { noHistory } from '../budgets/caps.ts';
import { blankOffer } from '../catalog/provisioning.ts';
import type { CampaignRules } from '../catalog/rules.ts';
import type { Offer, Publisher } from '../catalog/types.ts';
import { emptyModel } from '../learning/model.ts';
import { buildIndex } from './build-index.ts';
import { passIndexFilters } from './index/index-filters.ts';
import { postFilter } from './rules/post-filters.ts';
import type { DecisionContext } from './types.ts';

/** The parts of an unsaved campaign that decide who may see it. `rules` are valid. */
export type CampaignDraft = { rules: CampaignRules; isLoyalty: boolean };

/**
 * Whether a draft could have been shown in a past request, by its targeting, hours and conditions. Its start and end,
 * caps and the competition are ignored.
 */
export function eligibilityOf(draft: CampaignDraft, publisher: Publisher): (context: DecisionContext) => boolean {
  const { start_at: _start, end_at: _end, ...schedule } = draft.rules.schedule ?? {};
  const { frequency_caps: _frequency, total_caps: _total, pacing: _pacing, ...rules } = draft.rules;
  const offer = draftOffer({ ...rules, schedule }, draft.isLoyalty, publisher.id);
  // Block rules depend on properties that a blank offer lacks.
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
