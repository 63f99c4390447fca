import type { Campaign, Snapshot } from '../../catalog/snapshot/types.ts';
import { type CountedEvent, countEvents } from '../../offers/caps/count.ts';
import { needsOf } from '../../offers/caps/needs.ts';
import { deltasOf, nothingUsed, periodNames } from '../../offers/caps/use.ts';
import type { Executor } from '../../platform/db/pool.ts';
import type { NewBooking } from './bookings.ts';

/**
 * Takes new bookings into what campaigns have used and into the histories that caps ask for. A void gives its money
 * back to
 * the periods of the conversion; that the user converted stays true. Money in another currency than the campaign's
 * counts in
 * no budget. Suspicious ones count nowhere.
 */
export async function countBookings(
  executor: Executor,
  snapshot: Snapshot,
  bookings: readonly NewBooking[],
): Promise<void> {
  const needs = needsOf(snapshot);
  const known = bookings.flatMap((one) => {
    const campaign = snapshot.offers.get(one.click.offerId)?.campaign;
    return campaign === undefined || one.booking.suspicious !== null ? [] : [{ ...one, campaign }];
  });
  const givenBack = known
    .filter(({ booking }) => booking.isVoid)
    .flatMap(({ click, booking, campaign }) =>
      needs.totalsOf(campaign, click.publisherId).flatMap((total) => {
        const periods = periodNames(total.timeZone, click.conversion?.bookedAtMs ?? booking.bookedAtMs);
        return deltasOf(total, periods, { ...nothingUsed, micros: microsOf(campaign, booking) });
      }),
    );
  const events = known.filter(({ booking }) => !booking.isVoid).map(eventOf);
  await countEvents(executor, needs, events, givenBack);
}

const eventOf = ({ click, booking, campaign }: NewBooking & { campaign: Campaign }): CountedEvent => ({
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
