import { activeCapsOf } from '../../budgets/caps.ts';
import { type CountedEvent, countEvents, isCounted } from '../../budgets/count.ts';
import { deltasOf, noAmounts, periodNames } from '../../budgets/usage.ts';
import type { Campaign, Snapshot } from '../../catalog/types.ts';
import type { Executor } from '../../platform/db/pool.ts';
import type { NewBooking } from '../insert-bookings.ts';

/** Whether `countBookings` has to count one of them. */
export const areCounted = (snapshot: Snapshot, bookings: readonly NewBooking[]): boolean => {
  const needs = activeCapsOf(snapshot);
  return bookings.some(({ click }) => {
    const campaign = snapshot.offers.get(click.offerId)?.campaign;
    return campaign !== undefined && isCounted(needs, campaign, click.publisherId, 'conversion');
  });
};

/**
 * Counts new bookings in the usage of campaigns and in the histories that caps need. A void reverses the amount in the
 * periods of its conversion; that the user converted stays true. Amounts in another currency than the campaign's count
 * in no budget, suspicious ones nowhere.
 */
export async function countBookings(
  executor: Executor,
  snapshot: Snapshot,
  bookings: readonly NewBooking[],
): Promise<void> {
  const needs = activeCapsOf(snapshot);
  const counted = bookings.flatMap((one) => {
    const campaign = snapshot.offers.get(one.click.offerId)?.campaign;
    return campaign === undefined || one.booking.suspicious !== null ? [] : [{ ...one, campaign }];
  });
  const reversals = counted
    .filter(({ booking }) => booking.isVoid)
    .flatMap(({ click, booking, campaign }) =>
      needs.totalsOf(campaign, click.publisherId).flatMap((total) => {
        const periods = periodNames(total.timeZone, click.conversion?.bookedAtMs ?? booking.bookedAtMs);
        return deltasOf(total, periods, { ...noAmounts, micros: microsOf(campaign, booking) });
      }),
    );
  const events = counted.filter(({ booking }) => !booking.isVoid).map(toEvent);
  await countEvents(executor, needs, events, reversals);
}

const toEvent = ({ click, booking, campaign }: NewBooking & { campaign: Campaign }): CountedEvent => ({
  kind: 'conversion',
  sessionId: click.sessionId,
  publisherId: click.publisherId,
  offerId: click.offerId,
  campaign,
  atMs: booking.bookedAtMs,
  payoutMicros: microsOf(campaign, booking),
});

const microsOf = (campaign: Campaign, { payoutMicros, currency }: NewBooking['booking']): number =>
  currency === campaign.payout.currency ? Number(payoutMicros) : 0;
