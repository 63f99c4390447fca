import { timeOf } from '../platform/lib/time-zone.ts';
import { type EventKind, rulesOf } from './event-kinds.ts';
import type { Campaign, Controls, Offer, Payout } from './types.ts';

/** Whether an offer belongs to a publisher or is provisioned to it, active or not. */
export const isKnownTo = (offer: Offer, publisherId: number): boolean =>
  offer.publisherId === publisherId || offer.campaign.provisions.has(publisherId);

/** Whether an offer, its campaign and its provisioning are active. */
export const isProvisionedTo = (offer: Offer, publisherId: number): boolean =>
  offer.active && offer.campaign.active && offer.campaign.provisions.get(publisherId)?.active === true;

/** Whether a publisher may show an offer: it is provisioned to the publisher, and no block rule matches it. */
export const isServedTo = (offer: Offer, { id, controls }: { id: number; controls: Controls | null }): boolean =>
  isProvisionedTo(offer, id) && (controls === null || controls.blockOf(offer) === null);

/** Phase of a campaign by its start and end, ignoring its hours. */
export function phaseOf({ rules: { schedule = {} } }: Campaign, nowMs: number): 'ahead' | 'running' | 'over' {
  if ((timeOf(schedule.end_at) ?? Number.POSITIVE_INFINITY) <= nowMs) return 'over';
  return (timeOf(schedule.start_at) ?? Number.NEGATIVE_INFINITY) > nowMs ? 'ahead' : 'running';
}

/** End of a campaign (epoch milliseconds), or null if it has none. */
export const endMsOf = ({ rules: { schedule = {} } }: Campaign): number | null => timeOf(schedule.end_at) ?? null;

/** Priority of a campaign at a publisher. Lower numbers are shown first. */
export const priorityOf = (campaign: Campaign, publisherId: number): number =>
  campaign.provisions.get(publisherId)?.priority ?? campaign.priority;

/** Payout of a campaign at a publisher. */
export function payoutOf(
  { payout, provisions }: { payout: Payout; provisions: Campaign['provisions'] },
  publisherId: number,
): Payout {
  const amountMicros = provisions.get(publisherId)?.payoutMicros ?? null;
  return amountMicros === null ? payout : { ...payout, amountMicros };
}

/**
 * Maximum cost of one paid event, in millionths. It is 1 for a share of a sale, whose amount is not known in advance.
 */
export function maxCostMicros({ kind, amountMicros }: Payout): number {
  if (kind === 'cpm') return Math.max(1, amountMicros / 1000);
  return kind === 'cps' ? 1 : Math.max(1, amountMicros);
}

/**
 * Revenue of an event, in millionths of the campaign's currency: a click of a campaign paid per click, or an impression
 * of one paid per thousand. It is stored with the event, so that later changes of the payout do not alter past events.
 */
export function eventRevenueMicros(kind: EventKind, campaign: Campaign, publisherId: number): number {
  const { paidBy } = rulesOf(kind);
  if (paidBy === undefined) return 0;
  const { kind: payout, amountMicros } = payoutOf(campaign, publisherId);
  return paidBy.payout === payout ? Math.round(amountMicros / paidBy.per) : 0;
}
