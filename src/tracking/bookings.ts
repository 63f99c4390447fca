import type { Executor } from '../platform/db/pool.ts';
import { bookSql, unbillSql } from '../reports/bookings.ts';
import { type Delivery, deliverySql, deliveryValues } from '../webhooks/outbox.ts';

/**
 * Type of campaign total in which a booking is counted: the total for the whole campaign, or the total for the
 * publisher of the click.
 */
export type CountedTotal = 'campaign' | 'publisher';

/**
 * Row in the conversion ledger: a conversion, or the void that reverses a conversion. Amounts are in millionths of the
 * currency unit.
 */
export type Booking = {
  /** UTC day of the session. */
  day: string;
  sessionId: string;
  offerId: number;
  event: string;
  /** Keyed hash of the advertiser's transaction ID. */
  txnKey: string;
  isVoid: boolean;
  id: string;
  publisherId: number;
  campaignId: number;
  advertiserId: number;
  /** Advertiser's transaction ID, or null if none was reported or the user was erased. */
  txnId: string | null;
  /** Reported amount in `givenCurrency`, or null if no amount was reported. */
  givenMicros: bigint | null;
  /** Currency of `givenMicros`, or null if it is the booking currency. */
  givenCurrency: string | null;
  payoutMicros: bigint;
  /** Amount that an unbilled booking would have paid. 0 if the booking is billed. */
  unbilledMicros: bigint;
  /**
   * Reason why the booking is unbilled: the amount did not fit into a budget, or its currency has no exchange rate.
   * Null if `unbilledMicros` is 0.
   */
  unbilledReason: 'budget' | 'currency' | null;
  currency: string;
  isLoyalty: boolean;
  loyaltyMicros: bigint;
  suspicious: string | null;
  /** Campaign totals in which the booking was counted, or null if unknown. */
  countedIn: readonly CountedTotal[] | null;
  clickAtMs: number;
  bookedAtMs: number;
};

/** Returns the unbilled version of a booking whose conversion no longer fits into the campaign budget. */
export const unbilled = (booking: Booking): Booking => ({
  ...booking,
  unbilledMicros: booking.payoutMicros,
  unbilledReason: 'budget',
  payoutMicros: 0n,
  loyaltyMicros: 0n,
});

/**
 * Every batch inserts its rows in primary key order, so that batches cannot deadlock. The first row with a key wins,
 * even if it is not committed yet. A later row is neither counted nor sent as a postback.
 */
const insertSql = `
with given as (
  select * from json_to_recordset($1::json) as given (day date, "sessionId" uuid, "offerId" integer, event text,
    "txnKey" uuid, "isVoid" boolean, id uuid, "publisherId" integer, "campaignId" integer, "advertiserId" integer,
    "txnId" text, "givenMicros" bigint, "payoutMicros" bigint, "unbilledMicros" bigint, currency text,
    "isLoyalty" boolean, "loyaltyMicros" numeric, "givenCurrency" text, "unbilledReason" text, suspicious text,
    "countedIn" text[], "clickAtMs" float8, "bookedAtMs" float8)
), added as (
  insert into conversions (day, session_id, offer_id, event, txn_key, void, id, publisher_id, campaign_id,
    advertiser_id, txn_id, given_micros, payout_micros, unbilled_micros, currency, is_loyalty, loyalty_micros,
    given_currency, unbilled_reason, suspicious, counted_in, click_at, booked_at)
  select day, "sessionId", "offerId", event, "txnKey", "isVoid", id, "publisherId", "campaignId", "advertiserId",
    "txnId", "givenMicros", "payoutMicros", "unbilledMicros", currency, "isLoyalty", "loyaltyMicros",
    "givenCurrency", "unbilledReason", suspicious, "countedIn", to_timestamp("clickAtMs" / 1000),
    to_timestamp("bookedAtMs" / 1000)
  from given
  order by day, "sessionId", "offerId", event, "txnKey", "isVoid"
  on conflict do nothing
  returning id
), booked as (${bookSql(`
  select day, "sessionId", id, "publisherId", "offerId", "campaignId", to_timestamp("bookedAtMs" / 1000),
    case when "isVoid" then -1 else 1 end, "payoutMicros", "unbilledMicros", currency
  from given join added using (id)
  where suspicious is null`)}
), ${deliverySql(2, 'added')}
select (select array_agg(id) from added) as added, (select array_agg(distinct endpoint_id) from queued) as queued`;

/**
 * Inserts new rows into the ledger, counts them for reports and creates their deliveries, in one atomic statement.
 * Existing rows are skipped.
 * @returns the IDs of the inserted rows, and the endpoints that now have deliveries to claim
 */
export async function insertBookings(
  executor: Executor,
  bookings: readonly Booking[],
  deliveries: readonly Delivery[] = [],
): Promise<{ added: Set<string>; queued: readonly number[] }> {
  const { rows } = await executor.query<{ added: string[] | null; queued: number[] | null }>({
    name: 'insert_conversions',
    text: insertSql,
    values: [JSON.stringify(bookings.map(toJson)), ...deliveryValues(deliveries)],
  });
  return { added: new Set(rows[0]?.added), queued: rows[0]?.queued ?? [] };
}

/** Converts amounts to text, because JSON has no bigints. */
const toJson = (booking: Booking) => ({
  ...booking,
  givenMicros: booking.givenMicros?.toString() ?? null,
  payoutMicros: booking.payoutMicros.toString(),
  unbilledMicros: booking.unbilledMicros.toString(),
  loyaltyMicros: booking.loyaltyMicros.toString(),
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

/**
 * Marks conversions that no longer fit into a budget as unbilled. They must have been inserted in the same transaction.
 */
export async function markUnbilledBookings(executor: Executor, bookings: readonly Booking[]): Promise<void> {
  await executor.query({
    name: 'mark_unbilled_bookings',
    text: unbilledSql,
    values: [
      bookings.map(({ day }) => day),
      bookings.map(({ sessionId }) => sessionId),
      bookings.map(({ offerId }) => offerId),
      bookings.map(({ event }) => event),
      bookings.map(({ txnKey }) => txnKey),
      bookings.map(({ id }) => id),
    ],
  });
}
