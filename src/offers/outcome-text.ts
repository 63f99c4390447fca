import { type MessageKey, t } from '../platform/i18n/messages.ts';

const outcomes: ReadonlySet<string> = new Set([
  'stopped',
  'blocked_by_publisher',
  'campaign_paused',
  'offer_paused',
  'provisioning_paused',
  'rules_invalid',
  'unit_off',
  'percentage',
  'campaign_id',
  'loyalty_not_wanted',
  'loyalty_only',
  'no_creative',
  'not_on_offerwall',
  'no_identity',
  'targeting',
  'not_started',
  'ended',
  'hours',
  'audience',
  'conditions',
  'opted_out',
  'frequency_cap',
  'total_cap',
  'cap_reserved',
  'pacing',
  'other_placement',
  'held_out',
  'same_campaign',
  'same_advertiser',
  'exclusion_group',
  'sequence_denied',
  'sequence_reserved',
  'positions_filled',
]);

/** Describes in the reader's language what decisions resulted in for a campaign. */
export const outcomeText = (outcome: string): string =>
  outcomes.has(outcome) ? t(`campaigns.outcome_${outcome}` as MessageKey) : outcome;
