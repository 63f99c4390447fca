import type { Executor } from '../platform/db/pool.ts';
import { dayOfUuid7 } from '../platform/lib/uuid7.ts';
import type { Trace } from '../platform/tracing/tracing.ts';
import { bookSql, unbillSql } from '../reports/bookings.ts';
import { type Delivery, deliverySql, deliveryValues } from '../webhooks/outbox.ts';
import type { Booking } from './conversions/booking.ts';
import type { ConvertedClick } from './conversions/find-clicks.ts';

/** Data of a click in the ledger. */
type LedgerClick = {
  sessionId: string;
  offerId: number;
  publisherId: number;
  campaignId: number;
  advertiserId: number;
};

/** A row to add to the ledger, with its click. `txnId` is '' if there is none. */
export type LedgerEntry = { click: LedgerClick; booking: Booking; txnId: string };

/** A new booking. `trace` is that of the request that reports it. */
export type NewBooking = LedgerEntry & { click: ConvertedClick; trace: Trace | null };

/**
 * Consistent lock order: every batch inserts in the order of the primary key, so that batches cannot deadlock. A row
 * that exists, or is being written, wins over a later one, which is neither counted nor posted back.
 */
const insertSql = `
with given as (
  select * from json_to_recordset($1::json) as given (day date, session_id uuid, offer_id integer, event text,
    txn_key uuid, void boolean, id uuid, publisher_id integer, campaign_id integer, advertiser_id integer, txn_id text,
    given_micros bigint, payout_micros bigint, unbilled_micros bigint, currency text, is_loyalty boolean,
    loyalty_micros numeric, given_currency text, unbilled_reason text,
    suspicious text, counted_in text[], click_at_ms float8, booked_at_ms float8)
), added as (
  insert into conversions (day, session_id, offer_id, event, txn_key, void, id, publisher_id, campaign_id,
    advertiser_id, txn_id, given_micros, payout_micros, unbilled_micros, currency, is_loyalty, loyalty_micros,
    given_currency, unbilled_reason, suspicious, counted_in, click_at, booked_at)
  select day, session_id, offer_id, event, txn_key, void, id, publisher_id, campaign_id, advertiser_id,
    txn_id, given_micros, payout_micros, unbilled_micros, currency, is_loyalty, loyalty_micros,
    given_currency, unbilled_reason, suspicious, counted_in, to_timestamp(click_at_ms / 1000),
    to_timestamp(booked_at_ms / 1000)
  from given
  order by day, session_id, offer_id, event, txn_key, void
  on conflict do nothing
  returning id
), booked as (${bookSql(`
  select day, session_id, id, publisher_id, offer_id, campaign_id, to_timestamp(booked_at_ms / 1000),
    case when void then -1 else 1 end, payout_micros, unbilled_micros, currency
  from given join added using (id)
  where suspicious is null`)}
), ${deliverySql(2, 'added')}
select (select array_agg(id) from added) as added, (select array_agg(distinct endpoint_id) from queued) as queued`;

/**
 * Adds rows to the ledger unless they exist, counts the added ones for reports, and creates their deliveries, all or
 * nothing, in one statement.
 * @returns the ids of the added rows, and the endpoints that have deliveries to claim now
 */
export async function insertBookings(
  executor: Executor,
  bookings: readonly LedgerEntry[],
  deliveries: readonly Delivery[] = [],
): Promise<{ added: Set<string>; queued: readonly number[] }> {
  const { rows } = await executor.query<{ added: string[] | null; queued: number[] | null }>({
    name: 'insert_conversions',
    text: insertSql,
    values: [JSON.stringify(bookings.map(toRow)), ...deliveryValues(deliveries)],
  });
  return { added: new Set(rows[0]?.added), queued: rows[0]?.queued ?? [] };
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
  unbilled_micros: booking.unbilledMicros.toString(),
  currency: booking.currency,
  given_currency: booking.givenCurrency,
  unbilled_reason: booking.unbilledReason,
  is_loyalty: booking.isLoyalty,
  loyalty_micros: booking.loyaltyMicros.toString(),
  suspicious: booking.suspicious,
  counted_in: booking.countedIn,
  click_at_ms: booking.clickAtMs,
  booked_at_ms: booking.bookedAtMs,
});

const unbilledSql = `
with given as (
  select * from unnest($1::date[], $2::uuid[], $3::integer[], $4::text[], $5::uuid[], $6::uuid[])
    as given (day, session_id, offer_id, event, txn_key, id)
), ledger as (
  update conversions c set payout_micros = 0, loyalty_micros = 0, unbilled_micros = payout_micros,
    unbilled_reason = 'budget'
  from given
  where c.day = any($1::date[]) and not void and (c.day, c.session_id, c.offer_id, c.event, c.txn_key)
    = (given.day, given.session_id, given.offer_id, given.event, given.txn_key)
)
${unbillSql('given')}`;

/** Marks conversions added by this transaction that no longer fit into a budget. */
export async function markUnbilledBookings(executor: Executor, entries: readonly LedgerEntry[]): Promise<void> {
  await executor.query({
    name: 'mark_unbilled_bookings',
    text: unbilledSql,
    values: [
      entries.map(({ click }) => dayOfUuid7(click.sessionId)),
      entries.map(({ click }) => click.sessionId),
      entries.map(({ click }) => click.offerId),
      entries.map(({ booking }) => booking.event),
      entries.map(({ booking }) => booking.txnKey),
      entries.map(({ booking }) => booking.id),
    ],
  });
}
