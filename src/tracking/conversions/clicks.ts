import type { Executor } from '../../platform/db/pool.ts';
import { dayOfUuid7 } from '../../platform/lib/uuid7.ts';
import type { ClickRef } from '../clicks/click-id.ts';

/** A row of the ledger: a conversion, or the void that takes it back. Amounts in millionths. */
export type Booking = {
  id: string;
  event: string;
  /** Keyed hash of the advertiser's transaction. */
  txnKey: string;
  isVoid: boolean;
  givenMicros: bigint | null;
  payoutMicros: bigint;
  currency: string;
  isLoyalty: boolean;
  loyaltyMicros: bigint;
  suspicious: string | null;
  clickAtMs: number;
  bookedAtMs: number;
};

export type PayoutKind = 'cpc' | 'cpa' | 'cpm' | 'cps';

/** Everything about a click that a conversion of it is judged by and told with. */
export type ClickFacts = ClickRef & {
  publisherId: number;
  campaignId: number;
  advertiserId: number;
  advertiserName: string;
  isLoyalty: boolean;
  /** What the campaign pays this publisher; `cps`: percent, in millionths. */
  payout: { kind: PayoutKind; amountMicros: bigint; currency: string };
  /** Of the publisher's own currency, in millionths. */
  currencyMultiplier: bigint;
  /** The advertiser's secret; null: reports need no signature. */
  secretSealed: Buffer | null;
  /** A click of a developer's session, which leaves no trace. */
  dev: boolean;
  /** null in a dev session. */
  clickAtMs: number | null;
  suspicious: string | null;
  pubUserId: string | null;
  /** Who it was of was erased: nothing more is kept that could name the user. */
  erased: boolean;
  /** The publisher's own keys of the fetch. */
  custom: Readonly<Record<string, string>>;
  /** What is booked under the event and transaction asked for. */
  conversion: Booking | null;
  void: Booking | null;
  /** Rows of the ledger for this click, counted to `countedBookings`. */
  bookings: number;
};

/** More rows than this are not counted. */
export const countedBookings = 200;

/** A click and what is reported of it. */
export type Lookup = ClickRef & { event: string; txnKey: string };

const bookingJson = (isVoid: boolean): string => `(
  select json_build_object('id', id, 'given', given_micros::text, 'payout', payout_micros::text, 'currency', currency, 'is_loyalty', is_loyalty,
    'loyalty', loyalty_micros::text, 'suspicious', suspicious, 'booked_at', extract(epoch from booked_at) * 1000)
  from conversions where day = any($6::date[]) and day = c.day and session_id = c.session_id and offer_id = c.offer_id
    and event = c.event and txn_key = c.txn_key and void = ${isVoid} offset 0)`;

/*
 * One probe of each primary key for each click. The list of the batch's days lets the planner leave out all other
 * partitions; `offset 0` keeps the probes what they are. A scanned QR code has a click without a session, a developer's
 * session no click.
 */
const findSql = `
select c.index::integer, coalesce(e.publisher_id, s.publisher_id) as publisher_id, k.id as campaign_id, k.is_loyalty, a.id as advertiser_id,
  a.name as advertiser_name, a.conversion_secret_sealed, k.payout_kind, (coalesce(r.payout_amount, k.payout_amount) * 1000000)::bigint::text as payout,
  k.payout_currency, (p.currency_multiplier * 1000000)::bigint::text as multiplier, s.dev is true as dev, extract(epoch from e.at) * 1000 as click_at,
  s.erased_at is not null as erased, e.suspicious, s.pub_user_id, s.custom, ${bookingJson(false)} as conversion, ${bookingJson(true)} as void,
  (select count(*)::integer from (
    select from conversions where day = any($6::date[]) and day = c.day and session_id = c.session_id and offer_id = c.offer_id limit ${countedBookings}
  ) booked) as bookings
from unnest($1::date[], $2::uuid[], $3::integer[], $4::text[], $5::uuid[]) with ordinality as c (day, session_id, offer_id, event, txn_key, index)
left join lateral (
  select publisher_id, campaign_id, at, suspicious from events
  where day = any($6::date[]) and day = c.day and session_id = c.session_id and offer_id = c.offer_id and kind = 'click' offset 0
) e on true
left join lateral (
  select publisher_id, pub_user_id, custom, dev, erased_at from sessions
  where day = any($6::date[]) and day = c.day and id = c.session_id and (not dev or c.offer_id = any(offer_ids)) offset 0
) s on true
join offers o on o.id = c.offer_id
join campaigns k on k.id = o.campaign_id
join advertisers a on a.id = k.advertiser_id
join publishers p on p.id = coalesce(e.publisher_id, s.publisher_id)
left join campaign_publishers r on r.campaign_id = k.id and r.publisher_id = p.id
where e.at is not null or s.dev`;

type BookingJson = {
  id: string;
  given: string | null;
  payout: string;
  currency: string;
  is_loyalty: boolean;
  loyalty: string;
  suspicious: string | null;
  booked_at: number;
};

type Row = {
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
  conversion: BookingJson | null;
  void: BookingJson | null;
  bookings: number;
};

/** What is known of clicks, in one statement; null for a click that never was, or whose day is gone. */
export async function findClicks(executor: Executor, lookups: readonly Lookup[]): Promise<(ClickFacts | null)[]> {
  const days = lookups.map(({ sessionId }) => dayOfUuid7(sessionId));
  const { rows } = await executor.query<Row>({
    name: 'find_converted_clicks',
    text: findSql,
    values: [
      days,
      lookups.map(({ sessionId }) => sessionId),
      lookups.map(({ offerId }) => offerId),
      lookups.map(({ event }) => event),
      lookups.map(({ txnKey }) => txnKey),
      [...new Set(days)],
    ],
  });
  const found = lookups.map<ClickFacts | null>(() => null);
  for (const row of rows) found[row.index - 1] = factsOf(lookups[row.index - 1] as Lookup, row);
  return found;
}

function factsOf(lookup: Lookup, row: Row): ClickFacts {
  const clickAtMs = row.click_at === null ? null : Math.round(Number(row.click_at));
  const bookingOf = (json: BookingJson | null, isVoid: boolean): Booking | null =>
    json === null
      ? null
      : {
          id: json.id,
          event: lookup.event,
          txnKey: lookup.txnKey,
          isVoid,
          givenMicros: json.given === null ? null : BigInt(json.given),
          payoutMicros: BigInt(json.payout),
          currency: json.currency,
          isLoyalty: json.is_loyalty,
          loyaltyMicros: BigInt(json.loyalty),
          suspicious: json.suspicious,
          clickAtMs: clickAtMs ?? 0,
          bookedAtMs: Math.round(json.booked_at),
        };
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
  };
}
