import { activeCapsOf, type LimitedTotal } from '../../budgets/caps.ts';
import { type CountedEvent, countEvents, type VoidedConversion } from '../../budgets/count.ts';
import type { Campaign, Snapshot } from '../../catalog/types.ts';
import type { Executor } from '../../platform/db/pool.ts';
import type { Booking, CountedTotal } from '../bookings.ts';

/** Booking, together with the stored conversion for the same transaction, which a void reverses. */
type CountedBooking = { booking: Booking; click: { conversion: Booking | null } };

/** Returns the campaign totals in which `countBookings` counts conversions for an offer. */
export function totalsCounting(
  snapshot: Snapshot,
  { offerId, publisherId }: { offerId: number; publisherId: number },
): CountedTotal[] {
  const campaign = snapshot.offers.get(offerId)?.campaign;
  return campaign === undefined ? [] : activeCapsOf(snapshot).totalsOf(campaign, publisherId).map(nameOf);
}

const nameOf = ({ publisherId }: LimitedTotal): CountedTotal => (publisherId === null ? 'campaign' : 'publisher');

/** Whether any of the bookings must be counted by `countBookings`. */
export const areCounted = (snapshot: Snapshot, bookings: readonly CountedBooking[]): boolean => {
  const activeCaps = activeCapsOf(snapshot);
  return bookings.some(({ booking: { offerId, publisherId } }) => {
    const campaign = snapshot.offers.get(offerId)?.campaign;
    return campaign !== undefined && activeCaps.counts(campaign, publisherId, 'conversion');
  });
};

/**
 * Counts new bookings in the campaign usage and in the user histories that caps need. Suspicious bookings are not
 * counted. Amounts that are unbilled because there is no exchange rate do not count towards any budget. A void
 * subtracts its amount from the periods and totals in which its conversion was counted, and removes the conversion from
 * the user's history.
 * @returns the IDs of the bookings that no longer fit into a budget
 */
export async function countBookings(
  executor: Executor,
  snapshot: Snapshot,
  bookings: readonly CountedBooking[],
): Promise<Set<string>> {
  const activeCaps = activeCapsOf(snapshot);
  const counted = bookings.flatMap(({ booking, click }) => {
    const campaign = snapshot.offers.get(booking.offerId)?.campaign;
    if (campaign === undefined || booking.suspicious !== null) return [];
    return [{ booking, conversion: click.conversion, event: toEvent(booking, campaign) }];
  });
  const voided = counted.filter(({ booking }) => booking.isVoid).map(toVoided);
  const idByEvent = new Map(
    counted.flatMap(({ booking, event }) => (booking.isVoid ? [] : [[event, booking.id] as const])),
  );
  const unbilled = await countEvents(executor, activeCaps, [...idByEvent.keys()], voided);
  return new Set(unbilled.map((event) => idByEvent.get(event) as string));
}

const toEvent = (booking: Booking, campaign: Campaign): CountedEvent => ({
  kind: 'conversion',
  sessionId: booking.sessionId,
  publisherId: booking.publisherId,
  offerId: booking.offerId,
  campaign,
  atMs: booking.bookedAtMs,
  // Payouts are in the campaign currency, even if the snapshot still contains an earlier currency.
  revenueMicros: Number(booking.payoutMicros),
});

type CountedVoid = { booking: Booking; conversion: Booking | null; event: CountedEvent };

function toVoided({ booking, conversion, event }: CountedVoid): VoidedConversion {
  // Bookings from earlier releases may have a different currency. They were not counted towards any budget.
  const isInCurrency = booking.currency === event.campaign.payout.currency;
  return {
    ...event,
    atMs: conversion?.bookedAtMs ?? event.atMs,
    revenueMicros: isInCurrency ? event.revenueMicros : 0,
    unbilledMicros: isInCurrency ? Number(booking.unbilledMicros) : 0,
    isCountedIn: (total) => conversion?.countedIn?.includes(nameOf(total)) !== false,
  };
}
