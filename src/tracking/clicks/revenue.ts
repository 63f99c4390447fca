import { payoutOf } from '../../catalog/snapshot/provisioning.ts';
import type { Campaign } from '../../catalog/snapshot/types.ts';
import type { EventKind } from '../../platform/security/check-tracking-token.ts';

/**
 * What an event earns, in millionths of the campaign's currency: a click of a campaign paid by the click, an impression
 * of
 * one paid by the thousand. Kept with the event, so that a later change of the payout changes nothing that happened.
 */
export function revenueOf(kind: EventKind, campaign: Campaign, publisherId: number): number {
  if (kind !== 'click' && kind !== 'impression') return 0;
  const { kind: paidBy, amountMicros } = payoutOf(campaign, publisherId);
  if (kind === 'click') return paidBy === 'cpc' ? amountMicros : 0;
  return paidBy === 'cpm' ? Math.round(amountMicros / 1000) : 0;
}
