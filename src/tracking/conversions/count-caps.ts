import { activeCapsOf, type LimitedTotal } from '../../budgets/caps.ts';
import { type CountedEvent, countEvents, takeBackExposures } from '../../budgets/count.ts';
import { type Amounts, countedPeriods, deltasOf } from '../../budgets/usage.ts';
import type { Campaign, Snapshot } from '../../catalog/types.ts';
import type { Executor } from '../../platform/db/pool.ts';
import type { NewBooking } from '../insert-bookings.ts';
import type { Booking, CountedTotal } from './booking.ts';

/** The bookings with the totals that `countBookings` counts them in, as the ledger keeps them. */
export const withTotals = (snapshot: Snapshot, bookings: readonly NewBooking[]): NewBooking[] => {
  const needs = activeCapsOf(snapshot);
  return bookings.map((one) => {
    const campaign = snapshot.offers.get(one.click.offerId)?.campaign;
    const totals = campaign === undefined ? [] : needs.totalsOf(campaign, one.click.publisherId);
    return { ...one, booking: { ...one.booking, countedIn: totals.map(nameOf) } };
  });
};

const nameOf = ({ publisherId }: LimitedTotal): CountedTotal => (publisherId === null ? 'campaign' : 'publisher');

/** Whether `countBookings` has to count one of them. */
export const areCounted = (snapshot: Snapshot, bookings: readonly NewBooking[]): boolean => {
  const needs = activeCapsOf(snapshot);
  return bookings.some(({ click }) => {
    const campaign = snapshot.offers.get(click.offerId)?.campaign;
    return campaign !== undefined && needs.counts(campaign, click.publisherId, 'conversion');
  });
};

/**
 * Counts new bookings in the usage of campaigns and in the histories that caps need. A void reverses the amount in the
 * periods of its conversion, in totals that it was counted in, and takes the conversion out of the user's history.
 * Suspicious bookings count nowhere, and amounts that were left unbilled for want of an exchange rate in no budget.
 * @returns the bookings that no longer fit into a budget, by their ids
 */
export async function countBookings(
  executor: Executor,
  snapshot: Snapshot,
  bookings: readonly NewBooking[],
): Promise<Set<string>> {
  const needs = activeCapsOf(snapshot);
  const counted = bookings.flatMap((one) => {
    const campaign = snapshot.offers.get(one.click.offerId)?.campaign;
    return campaign === undefined || one.booking.suspicious !== null ? [] : [{ ...one, campaign }];
  });
  const voids = counted.filter(({ booking }) => booking.isVoid);
  const reversals = voids.flatMap(({ click, booking, campaign }) =>
    needs.totalsOf(campaign, click.publisherId).flatMap((total) => {
      if (click.conversion?.countedIn?.includes(nameOf(total)) === false) return [];
      const periods = countedPeriods(total, 'conversion', convertedAtMs(click, booking));
      return deltasOf(total, periods, reversalOf(campaign, booking));
    }),
  );
  if (voids.length > 0) {
    const sessionIds = counted.map(({ click }) => click.sessionId);
    const taken = voids.map((one) => ({ ...toEvent(one), atMs: convertedAtMs(one.click, one.booking) }));
    await takeBackExposures(executor, taken, sessionIds);
  }
  const events = new Map(
    counted.filter(({ booking }) => !booking.isVoid).map((one) => [toEvent(one), one.booking.id] as const),
  );
  const unbilled = await countEvents(executor, needs, [...events.keys()], reversals);
  return new Set(unbilled.map((event) => events.get(event) as string));
}

const convertedAtMs = ({ conversion }: NewBooking['click'], { bookedAtMs }: NewBooking['booking']): number =>
  conversion?.bookedAtMs ?? bookedAtMs;

const toEvent = ({ click, booking, campaign }: NewBooking & { campaign: Campaign }): CountedEvent => ({
  kind: 'conversion',
  sessionId: click.sessionId,
  publisherId: click.publisherId,
  offerId: click.offerId,
  campaign,
  atMs: booking.bookedAtMs,
  // What is paid is in the currency of the campaign, also where the snapshot does not have its latest currency yet.
  revenueMicros: Number(booking.payoutMicros),
});

const reversalOf = (campaign: Campaign, booking: Booking): Partial<Amounts> => {
  // Bookings of earlier releases may have another currency: they were counted in no budget.
  if (booking.currency !== campaign.payout.currency) return { conversions: -1 };
  const [micros, unbilledMicros] = [Number(booking.payoutMicros), Number(booking.unbilledMicros)];
  return { conversions: -1, micros, spentMicros: micros, unbilledMicros };
};
