import type { Executor } from '../platform/db/pool.ts';

/** Conversion as shown to its advertiser, without the session, user and placement. */
export type AdvertiserConversion = {
  at: Date;
  offerId: number;
  campaignId: number;
  publisherId: number;
  event: string;
  txnId: string | null;
  isVoid: boolean;
  payoutMicros: number;
  unbilledMicros: number;
  currency: string;
  /** Reason why the conversion pays nothing, or null if it is valid. */
  suspicious: string | null;
};

/**
 * Filter for conversions. Null values match all conversions. Days are in the time zone of the publisher at which a
 * conversion was booked, as in reports.
 */
export type ConversionFilter = {
  campaignId: number | null;
  publisherId: number | null;
  from: string | null;
  to: string | null;
};

type Range = { advertiserId: number; since: Date; before: Date; limit: number; filter: ConversionFilter };

/** Returns an advertiser's newest conversions that were booked within a time range, up to `limit`. */
export async function conversionsOfAdvertiser(
  executor: Executor,
  { advertiserId, since, before, limit, filter }: Range,
): Promise<AdvertiserConversion[]> {
  const { rows } = await executor.query<Omit<AdvertiserConversion, 'payoutMicros' | 'unbilledMicros'> & MicrosText>(
    `select booked_at as at, offer_id as "offerId", campaign_id as "campaignId", publisher_id as "publisherId", event,
      txn_id as "txnId", void as "isVoid", payout_micros as "payoutMicros", unbilled_micros as "unbilledMicros",
      currency, suspicious
    from conversions c cross join lateral (
      select (c.booked_at at time zone p.time_zone)::date as day from publishers p where p.id = c.publisher_id
    ) booked
    where advertiser_id = $1 and booked_at >= $2 and booked_at < $3
      and ($5::integer is null or campaign_id = $5) and ($6::integer is null or publisher_id = $6)
      and ($7::date is null or booked.day >= $7) and ($8::date is null or booked.day <= $8)
    order by booked_at desc limit $4`,
    [advertiserId, since, before, limit, filter.campaignId, filter.publisherId, filter.from, filter.to],
  );
  return rows.map((row) => ({
    ...row,
    payoutMicros: Number(row.payoutMicros),
    unbilledMicros: Number(row.unbilledMicros),
  }));
}

/** Amounts as text, because pg returns bigints as strings. */
type MicrosText = { payoutMicros: string; unbilledMicros: string };
