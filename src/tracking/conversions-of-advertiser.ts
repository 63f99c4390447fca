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

/** Returns an advertiser's newest conversions that were booked within a time range, up to `limit`. */
export async function conversionsOfAdvertiser(
  executor: Executor,
  { advertiserId, since, before, limit }: { advertiserId: number; since: Date; before: Date; limit: number },
): Promise<AdvertiserConversion[]> {
  const { rows } = await executor.query<Omit<AdvertiserConversion, 'payoutMicros' | 'unbilledMicros'> & MicrosText>(
    `select booked_at as at, offer_id as "offerId", campaign_id as "campaignId", publisher_id as "publisherId", event,
      txn_id as "txnId", void as "isVoid", payout_micros as "payoutMicros", unbilled_micros as "unbilledMicros",
      currency, suspicious
    from conversions where advertiser_id = $1 and booked_at >= $2 and booked_at < $3
    order by booked_at desc limit $4`,
    [advertiserId, since, before, limit],
  );
  return rows.map((row) => ({
    ...row,
    payoutMicros: Number(row.payoutMicros),
    unbilledMicros: Number(row.unbilledMicros),
  }));
}

/** Amounts as text, because pg returns bigints as strings. */
type MicrosText = { payoutMicros: string; unbilledMicros: string };
