import { activeCapsOf, type LimitedTotal } from '../../budgets/caps.ts';
import { type CountedEvent, countEvents, takeBackExposures } from '../../budgets/count.ts';
import { type Amounts, countedPeriods, deltasOf } from '../../budgets/usage.ts';
import type { Campaign, Snapshot } from '../../catalog/types.ts';
import type { Executor } from '../../platform/db/pool.ts';
import type { NewBooking } from '../insert-bookings.ts';
import type { Booking, CountedTotal } from './booking.ts';

/** Adds the totals that `countBookings` counts the bookings in, for the ledger. */
export const withTotals = (snapshot: Snapshot, bookings: readonly NewBooking[]): NewBooking[] => {
  const needs = activeCapsOf(snapshot);
  return bookings.map((entry) => {
    const campaign = snapshot.offers.get(entry.click.offerId)?.campaign;
    const totals = campaign === undefined ? [] : needs.totalsOf(campaign, entry.click.publisherId);
    return { ...entry, booking: { ...entry.booking, countedIn: totals.map(nameOf) } };
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
 * periods of its conversion, in the totals that it was counted in, and removes the conversion from the user's history.
 * Suspicious bookings are not counted, and amounts that are unbilled for lack of an exchange rate are in no budget.
 * @returns the bookings that no longer fit into a budget, by id
 */
export async function countBookings(
  executor: Executor,
  snapshot: Snapshot,
  bookings: readonly NewBooking[],
): Promise<Set<string>> {
  const needs = activeCapsOf(snapshot);
  const counted = bookings.flatMap((entry) => {
    const campaign = snapshot.offers.get(entry.click.offerId)?.campaign;
    return campaign === undefined || entry.booking.suspicious !== null ? [] : [{ ...entry, campaign }];
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
    const withdrawn = voids.map((entry) => ({ ...toEvent(entry), atMs: convertedAtMs(entry.click, entry.booking) }));
    await takeBackExposures(executor, withdrawn, sessionIds);
  }
  const events = new Map(
    counted.filter(({ booking }) => !booking.isVoid).map((entry) => [toEvent(entry), entry.booking.id] as const),
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
  // Payments are in the currency of the campaign, even if the snapshot does not have its latest currency yet.
  revenueMicros: Number(booking.payoutMicros),
});

const reversalOf = (campaign: Campaign, booking: Booking): Partial<Amounts> => {
  // Bookings of earlier releases may have another currency; they were counted in no budget.
  if (booking.currency !== campaign.payout.currency) return { conversions: -1 };
  const [micros, unbilledMicros] = [Number(booking.payoutMicros), Number(booking.unbilledMicros)];
  return { conversions: -1, micros, spentMicros: micros, unbilledMicros };
};
