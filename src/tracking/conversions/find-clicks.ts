import type { PayoutKind } from '../../catalog/rules.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { dayOfUuid7 } from '../../platform/lib/uuid7.ts';
import { type Target, targetsSql } from '../../webhooks/outbox.ts';
import type { ClickRef } from '../clicks/click-id.ts';
import { type Booking, postbackEvent } from './booking.ts';

/** A click with all data for evaluating and reporting its conversions. */
export type ConvertedClick = ClickRef & {
  publisherId: number;
  campaignId: number;
  advertiserId: number;
  advertiserName: string;
  isLoyalty: boolean;
  /** Payout of the campaign for this publisher; for `cps` a percentage, in millionths. */
  payout: { kind: PayoutKind; amountMicros: bigint; currency: string };
  /** Multiplier of the publisher's own currency, in millionths. */
  currencyMultiplier: bigint;
  /** The advertiser's secret; null if reports need no signature. */
  secretSealed: Buffer | null;
  /** Whether it is a click of a developer's session, which is not stored. */
  dev: boolean;
  /** Null in a dev session. */
  clickAtMs: number | null;
  suspicious: string | null;
  pubUserId: string | null;
  /** Whether the user was erased. Nothing that could identify them may be stored any more. */
  erased: boolean;
  /** Custom attributes of the fetch. */
  custom: Readonly<Record<string, string>>;
  /** Bookings with the event and transaction of the lookup. */
  conversion: Booking | null;
  void: Booking | null;
  /** Number of ledger rows for this click, up to `maxBookings`. */
  bookings: number;
  /** Endpoints that receive postbacks of its conversions. */
  targets: readonly Target[];
};

/** Maximum number of conversions and voids of a click. */
export const maxBookings = 200;

/** A click with the reported event and transaction. */
export type Lookup = ClickRef & { event: string; txnKey: string };

const bookingSql = (days: string, isVoid: boolean): string => `(
  select json_build_object('id', id, 'given', given_micros::text, 'payout', payout_micros::text,
    'unbilled', unbilled_micros::text, 'currency', currency, 'given_currency', given_currency,
    'unbilled_reason', case when unbilled_micros <> 0 then coalesce(unbilled_reason, 'budget') end,
    'is_loyalty', is_loyalty, 'loyalty', loyalty_micros::text, 'suspicious', suspicious, 'counted_in', counted_in,
    'booked_at', extract(epoch from booked_at) * 1000)
  from conversions
  where day = any(${days}) and day = c.day and session_id = c.session_id and offer_id = c.offer_id
    and event = c.event and txn_key = c.txn_key and void = ${isVoid}
  offset 0)`;

/**
 * One index probe of each primary key per click. The list of the batch's days lets the planner skip all other
 * partitions; `offset 0` prevents the probes from becoming joins. The click of a scanned QR code has no session, and a
 * developer's session has no click.
 */
const findSql = (days: string): string => `
select c.index::integer, coalesce(e.publisher_id, s.publisher_id) as publisher_id, k.id as campaign_id, k.is_loyalty,
  a.id as advertiser_id, a.name as advertiser_name, a.conversion_secret_sealed, k.payout_kind,
  (coalesce(r.payout_amount, k.payout_amount) * 1000000)::bigint::text as payout, k.payout_currency,
  (p.currency_multiplier * 1000000)::bigint::text as multiplier, s.dev is true as dev,
  extract(epoch from e.at) * 1000 as click_at, s.erased_at is not null as erased, e.suspicious, s.pub_user_id, s.custom,
  ${bookingSql(days, false)} as conversion, ${bookingSql(days, true)} as void,
  (select count(*)::integer from (
    select from conversions
    where day = any(${days}) and day = c.day and session_id = c.session_id and offer_id = c.offer_id
    limit ${maxBookings}
  ) booked) as bookings,
  ${targetsSql('p.id', postbackEvent)} as targets
from unnest($1::date[], $2::uuid[], $3::integer[], $4::text[], $5::uuid[])
  with ordinality as c (day, session_id, offer_id, event, txn_key, index)
left join lateral (
  select publisher_id, campaign_id, at, suspicious from events
  where day = any(${days}) and day = c.day and session_id = c.session_id and offer_id = c.offer_id
    and kind = 'click'
  offset 0
) e on true
left join lateral (
  select publisher_id, pub_user_id, custom, dev, erased_at from sessions
  where day = any(${days}) and day = c.day and id = c.session_id and (not dev or c.offer_id = any(offer_ids))
  offset 0
) s on true
join offers o on o.id = c.offer_id
join campaigns k on k.id = o.campaign_id
join advertisers a on a.id = k.advertiser_id
join publishers p on p.id = coalesce(e.publisher_id, s.publisher_id)
left join campaign_publishers r on r.campaign_id = k.id and r.publisher_id = p.id
where e.at is not null or s.dev`;

type BookingRow = {
  id: string;
  given: string | null;
  payout: string;
  unbilled: string;
  unbilled_reason: Booking['unbilledReason'];
  currency: string;
  given_currency: string | null;
  is_loyalty: boolean;
  loyalty: string;
  suspicious: string | null;
  counted_in: Booking['countedIn'];
  booked_at: number;
};

type ClickRow = {
  index: number;
  publisher_id: number;
  campaign_id: number;
  is_loyalty: boolean;
  advertiser_id: number;
  advertiser_name: string;
  conversion_secret_sealed: Buffer | null;
  payout_kind: PayoutKind;
  payout: string;
  payout_currency: string;
  multiplier: string;
  dev: boolean;
  erased: boolean;
  click_at: string | null;
  suspicious: string | null;
  pub_user_id: string | null;
  custom: Record<string, string> | null;
  conversion: BookingRow | null;
  void: BookingRow | null;
  bookings: number;
  targets: Target[] | null;
};

/**
 * Finds clicks in one statement.
 * @returns null for a click that does not exist, or whose day was dropped
 */
export async function findClicks(
  executor: Executor,
  lookups: readonly Lookup[],
  nowMs: number,
): Promise<(ConvertedClick | null)[]> {
  const days = lookups.map(({ sessionId }) => dayOfUuid7(sessionId));
  const { rows } = await executor.query<ClickRow>(
    statementOf(days, nowMs, [
      days,
      lookups.map(({ sessionId }) => sessionId),
      lookups.map(({ offerId }) => offerId),
      lookups.map(({ event }) => event),
      lookups.map(({ txnKey }) => txnKey),
    ]),
  );
  const convertedClicks = lookups.map<ConvertedClick | null>(() => null);
  for (const row of rows) convertedClicks[row.index - 1] = toClick(lookups[row.index - 1] as Lookup, row);
  return convertedClicks;
}

/**
 * Most clicks are of today or yesterday. If the statement itself contains these days, PostgreSQL keeps its plan. With
 * days in a parameter it plans each batch, which takes as long as everything else
 * (docs/adr/0017-conversions-in-two-statements.md).
 */
function statementOf(days: readonly string[], nowMs: number, values: readonly (readonly (string | number)[])[]) {
  const [today, yesterday] = [dayOf(nowMs), dayOf(nowMs - dayMs)];
  if (!days.every((day) => day === today || day === yesterday))
    return { name: 'find_converted_clicks', text: findSql('$6::date[]'), values: [...values, [...new Set(days)]] };
  const recent = findSql(`'{${yesterday},${today}}'::date[]`);
  return { name: `find_clicks_of_${today}`, text: recent, values: [...values] };
}

function toClick(lookup: Lookup, row: ClickRow): ConvertedClick {
  const clickAtMs = row.click_at === null ? null : Math.round(Number(row.click_at));
  const bookingOf = (booking: BookingRow | null, isVoid: boolean): Booking | null =>
    booking === null ? null : toBooking(booking, { lookup, isVoid, clickAtMs: clickAtMs ?? 0 });
  return {
    sessionId: lookup.sessionId,
    offerId: lookup.offerId,
    publisherId: row.publisher_id,
    campaignId: row.campaign_id,
    advertiserId: row.advertiser_id,
    advertiserName: row.advertiser_name,
    isLoyalty: row.is_loyalty,
    payout: { kind: row.payout_kind, amountMicros: BigInt(row.payout), currency: row.payout_currency },
    currencyMultiplier: BigInt(row.multiplier),
    secretSealed: row.conversion_secret_sealed,
    dev: row.dev,
    clickAtMs,
    suspicious: row.suspicious,
    pubUserId: row.pub_user_id,
    erased: row.erased,
    custom: row.custom ?? {},
    conversion: bookingOf(row.conversion, false),
    void: bookingOf(row.void, true),
    bookings: row.bookings,
    targets: row.targets ?? [],
  };
}

type BookingContext = { lookup: Lookup; isVoid: boolean; clickAtMs: number };

const toBooking = (row: BookingRow, { lookup, isVoid, clickAtMs }: BookingContext): Booking => ({
  id: row.id,
  event: lookup.event,
  txnKey: lookup.txnKey,
  isVoid,
  givenMicros: row.given === null ? null : BigInt(row.given),
  payoutMicros: BigInt(row.payout),
  givenCurrency: row.given_currency,
  unbilledMicros: BigInt(row.unbilled),
  unbilledReason: row.unbilled_reason,
  currency: row.currency,
  isLoyalty: row.is_loyalty,
  loyaltyMicros: BigInt(row.loyalty),
  suspicious: row.suspicious,
  countedIn: row.counted_in,
  clickAtMs,
  bookedAtMs: Math.round(row.booked_at),
});
