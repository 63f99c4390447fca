import type { Executor } from '../../platform/db/pool.ts';
import { dayOfUuid7 } from '../../platform/lib/uuid7.ts';

/** A conversion as reports count it, or its void with opposite signs. */
export type ReportBooking = {
  /** Deduplicates: booked again, it counts once. */
  id: string;
  sessionId: string;
  publisherId: number;
  offerId: number;
  campaignId: number;
  atMs: number;
  conversions: 1 | -1;
  /** Millionths of the currency. */
  revenueMicros: bigint;
};

const insertSql = `
insert into bookings (day, session_id, id, publisher_id, offer_id, campaign_id, at, conversions, revenue_micros)
select day, session_id, id, publisher_id, offer_id, campaign_id, to_timestamp(at_ms / 1000), conversions, revenue_micros
from unnest(
  $1::date[], $2::uuid[], $3::uuid[], $4::integer[], $5::integer[], $6::integer[], $7::float8[], $8::smallint[],
  $9::bigint[]
) as given (day, session_id, id, publisher_id, offer_id, campaign_id, at_ms, conversions, revenue_micros)
order by day, session_id, id
on conflict do nothing`;

/** Counts conversions and their revenue, in the transaction that records them. Suspicious ones must not be booked. */
export async function book(executor: Executor, bookings: readonly ReportBooking[]): Promise<void> {
  if (bookings.length === 0) return;
  const column = <T>(pick: (booking: ReportBooking) => T): T[] => bookings.map(pick);
  await executor.query({
    name: 'book_conversions',
    text: insertSql,
    values: [
      column((booking) => dayOfUuid7(booking.sessionId)),
      column((booking) => booking.sessionId),
      column((booking) => booking.id),
      column((booking) => booking.publisherId),
      column((booking) => booking.offerId),
      column((booking) => booking.campaignId),
      column((booking) => booking.atMs),
      column((booking) => booking.conversions),
      column((booking) => booking.revenueMicros.toString()),
    ],
  });
}
