import type { Executor } from '../platform/db/pool.ts';

/** A conversion for its advertiser, without session, user and placement. */
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
  /** Reason why it pays nothing; null if it counts. */
  suspicious: string | null;
};

/** Newest conversions of an advertiser, booked since a time and before another, up to `limit`. */
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

/** pg returns a bigint as text. */
type MicrosText = { payoutMicros: string; unbilledMicros: string };
