import type { Executor } from '../../platform/db/pool.ts';
import { dayOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { ReportBooking } from '../../reports/rollup/bookings.ts';
import type { Booking } from './booking.ts';
import type { ConvertedClick } from './find-clicks.ts';

/** What the ledger stores of a click. */
type LedgerClick = Pick<ConvertedClick, 'sessionId' | 'offerId' | 'publisherId' | 'campaignId' | 'advertiserId'>;

/** A row to add to the ledger, with its click. `txnId` '': none. */
export type LedgerEntry = { click: LedgerClick; booking: Booking; txnId: string };

export type NewBooking = LedgerEntry & { click: ConvertedClick };

/*
 * Consistent lock order: every batch inserts in the order of the primary key, so that batches cannot deadlock. A row
 * that is there already, or is being written, wins over a later one.
 */
const insertSql = `
insert into conversions (day, session_id, offer_id, event, txn_key, void, id, publisher_id, campaign_id, advertiser_id,
  txn_id, given_micros, payout_micros, currency, is_loyalty, loyalty_micros, suspicious, click_at, booked_at)
select day, session_id, offer_id, event, txn_key, void, id, publisher_id, campaign_id, advertiser_id,
  txn_id, given_micros, payout_micros, currency, is_loyalty, loyalty_micros, suspicious,
  to_timestamp(click_at_ms / 1000), to_timestamp(booked_at_ms / 1000)
from json_to_recordset($1::json) as given (day date, session_id uuid, offer_id integer, event text, txn_key uuid,
  void boolean, id uuid, publisher_id integer, campaign_id integer, advertiser_id integer, txn_id text,
  given_micros bigint, payout_micros bigint, currency text, is_loyalty boolean, loyalty_micros numeric,
  suspicious text, click_at_ms float8, booked_at_ms float8)
order by day, session_id, offer_id, event, txn_key, void
on conflict do nothing
returning id`;

/** Adds rows to the ledger, unless they are there. @returns the ids of those that were added */
export async function insertBookings(executor: Executor, bookings: readonly LedgerEntry[]): Promise<Set<string>> {
  const { rows } = await executor.query<{ id: string }>({
    name: 'insert_conversions',
    text: insertSql,
    values: [JSON.stringify(bookings.map(toRow))],
  });
  return new Set(rows.map((row) => row.id));
}

const toRow = ({ click, booking, txnId }: LedgerEntry) => ({
  day: dayOfUuid7(click.sessionId),
  session_id: click.sessionId,
  offer_id: click.offerId,
  event: booking.event,
  txn_key: booking.txnKey,
  void: booking.isVoid,
  id: booking.id,
  publisher_id: click.publisherId,
  campaign_id: click.campaignId,
  advertiser_id: click.advertiserId,
  txn_id: txnId === '' ? null : txnId,
  given_micros: booking.givenMicros?.toString() ?? null,
  payout_micros: booking.payoutMicros.toString(),
  currency: booking.currency,
  is_loyalty: booking.isLoyalty,
  loyalty_micros: booking.loyaltyMicros.toString(),
  suspicious: booking.suspicious,
  click_at_ms: booking.clickAtMs,
  booked_at_ms: booking.bookedAtMs,
});

/** A row of the ledger as reports count it. */
export const toReportBooking = ({ click, booking }: LedgerEntry): ReportBooking => ({
  id: booking.id,
  sessionId: click.sessionId,
  publisherId: click.publisherId,
  offerId: click.offerId,
  campaignId: click.campaignId,
  atMs: booking.bookedAtMs,
  conversions: booking.isVoid ? -1 : 1,
  revenueMicros: booking.payoutMicros,
});
