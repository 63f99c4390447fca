import type { PayoutKind } from '../../catalog/rules.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { dayOfUuid7 } from '../../platform/lib/uuid7.ts';
import { type Target, targetsSql } from '../../webhooks/outbox.ts';
import type { Booking } from '../bookings.ts';
import type { ClickRef } from '../clicks/click-id.ts';
import { postbackEvent } from './postback.ts';

/** Click to look up, with the reported event and transaction. */
export type Lookup = ClickRef & { event: string; txnKey: string };

/** Click with all the data needed to decide about its conversions and to send their postbacks. */
export type ConvertedClick = ClickRef & {
  /** UTC day of the session. */
  day: string;
  publisherId: number;
  campaignId: number;
  advertiserId: number;
  advertiserName: string;
  isLoyalty: boolean;
  payoutKind: PayoutKind;
  /** Campaign payout for this publisher, in millionths. For `cps`, it is a percentage. */
  payoutMicros: bigint;
  payoutCurrency: string;
  /** Publisher's currency multiplier, in millionths. */
  currencyMultiplier: bigint;
  /** Encrypted secret of the advertiser, or null if the advertiser's reports need no signature. */
  secretSealed: Buffer | null;
  /** Whether the click belongs to a dev session. Clicks in dev sessions are not stored. */
  dev: boolean;
  /** Click time in epoch milliseconds, or null in a dev session. */
  clickAtMs: number | null;
  suspicious: string | null;
  pubUserId: string | null;
  /** Whether the user was erased. If so, no data that could identify the user may be stored. */
  erased: boolean;
  /** Custom attributes that were sent with the fetch. */
  custom: Readonly<Record<string, string>>;
  /** Existing conversion and void for the reported event and transaction. Each is null if it does not exist. */
  conversion: Booking | null;
  void: Booking | null;
  /** Number of ledger rows for this click. Counting stops at `maxBookings`. */
  bookings: number;
  /** Endpoints that receive the postbacks for the click's conversions. */
  targets: readonly Target[];
};

/** Maximum number of conversions and voids per click. */
export const maxBookings = 200;

const bookingSql = (days: string, isVoid: boolean): string => `(
  select json_build_object('day', day, 'sessionId', session_id, 'offerId', offer_id, 'event', event,
    'txnKey', txn_key, 'isVoid', void, 'id', id, 'publisherId', publisher_id, 'campaignId', campaign_id,
    'advertiserId', advertiser_id, 'txnId', txn_id, 'givenMicros', given_micros::text,
    'givenCurrency', given_currency, 'payoutMicros', payout_micros::text, 'unbilledMicros', unbilled_micros::text,
    'unbilledReason', case when unbilled_micros <> 0 then coalesce(unbilled_reason, 'budget') end,
    'currency', currency, 'isLoyalty', is_loyalty, 'loyaltyMicros', loyalty_micros::text, 'suspicious', suspicious,
    'countedIn', counted_in, 'clickAtMs', round(extract(epoch from click_at) * 1000),
    'bookedAtMs', round(extract(epoch from booked_at) * 1000))
  from conversions
  where day = any(${days}) and day = c.day and session_id = c.session_id and offer_id = c.offer_id
    and event = c.event and txn_key = c.txn_key and void = ${isVoid}
  offset 0)`;

/**
 * Uses one primary key probe per table and click. The list of days lets the planner skip all other partitions, and
 * `offset 0` prevents it from turning the probes into joins. A click on a scanned QR code has no session, and a dev
 * session has no stored click.
 */
const findSql = (days: string): string => `
select c.index::integer, c.day::text, c.session_id as "sessionId", c.offer_id as "offerId",
  coalesce(e.publisher_id, s.publisher_id) as "publisherId", k.id as "campaignId", k.is_loyalty as "isLoyalty",
  a.id as "advertiserId", a.name as "advertiserName", a.conversion_secret_sealed as "secretSealed",
  k.payout_kind as "payoutKind",
  (coalesce(r.payout_amount, k.payout_amount) * 1000000)::bigint as "payoutMicros",
  k.payout_currency as "payoutCurrency", (p.currency_multiplier * 1000000)::bigint as "currencyMultiplier",
  s.dev is true as dev, round(extract(epoch from e.at) * 1000)::float8 as "clickAtMs",
  s.erased_at is not null as erased, e.suspicious, s.pub_user_id as "pubUserId", coalesce(s.custom, '{}') as custom,
  ${bookingSql(days, false)} as conversion, ${bookingSql(days, true)} as void,
  (select count(*)::integer from (
    select from conversions
    where day = any(${days}) and day = c.day and session_id = c.session_id and offer_id = c.offer_id
    limit ${maxBookings}
  ) booked) as bookings,
  coalesce(${targetsSql('p.id', postbackEvent)}, '[]') as targets
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

type BookingRow = Omit<Booking, 'givenMicros' | 'payoutMicros' | 'unbilledMicros' | 'loyaltyMicros'> & {
  givenMicros: string | null;
  payoutMicros: string;
  unbilledMicros: string;
  loyaltyMicros: string;
};

type ClickRow = Omit<ConvertedClick, 'payoutMicros' | 'currencyMultiplier' | 'conversion' | 'void'> & {
  index: number;
  payoutMicros: string;
  currencyMultiplier: string;
  conversion: BookingRow | null;
  void: BookingRow | null;
};

/**
 * Looks up clicks in one statement.
 * @returns one entry per lookup; an entry is null if the click does not exist or its day's partition was dropped
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
  for (const row of rows) convertedClicks[row.index - 1] = toClick(row);
  return convertedClicks;
}

/**
 * Most clicks are from today or yesterday. If these days are literals in the statement, PostgreSQL reuses its plan. If
 * they are a parameter, PostgreSQL plans the statement again for every batch, which takes as long as everything else
 * (docs/adr/0017-conversions-in-two-statements.md).
 */
function statementOf(days: readonly string[], nowMs: number, values: readonly (readonly (string | number)[])[]) {
  const [today, yesterday] = [dayOf(nowMs), dayOf(nowMs - dayMs)];
  if (!days.every((day) => day === today || day === yesterday))
    return { name: 'find_converted_clicks', text: findSql('$6::date[]'), values: [...values, [...new Set(days)]] };
  const recent = findSql(`'{${yesterday},${today}}'::date[]`);
  return { name: `find_clicks_of_${today}`, text: recent, values: [...values] };
}

const toClick = (row: ClickRow): ConvertedClick => ({
  ...row,
  payoutMicros: BigInt(row.payoutMicros),
  currencyMultiplier: BigInt(row.currencyMultiplier),
  conversion: row.conversion && toBooking(row.conversion),
  void: row.void && toBooking(row.void),
});

const toBooking = (row: BookingRow): Booking => ({
  ...row,
  givenMicros: row.givenMicros === null ? null : BigInt(row.givenMicros),
  payoutMicros: BigInt(row.payoutMicros),
  unbilledMicros: BigInt(row.unbilledMicros),
  loyaltyMicros: BigInt(row.loyaltyMicros),
});
