import type { Executor } from '../platform/db/pool.ts';
import type { Offer, Snapshot } from './types.ts';

/** Rows that a publisher needs for its first offer. */
export type FirstRow = 'advertiser' | 'campaign' | 'offer';

/** Returns which of these rows a publisher has. Offers of other publishers count if they are served to it. */
export async function firstRows(executor: Executor, { offers }: Snapshot, publisherId: number): Promise<FirstRow[]> {
  const { rows } = await executor.query<{ advertiser: boolean; campaign: boolean }>({
    name: 'first_rows',
    text: `select
      exists (select from advertisers where publisher_id = $1 and deleted_at is null) as advertiser,
      exists (select from campaigns where publisher_id = $1 and deleted_at is null) as campaign`,
    values: [publisherId],
  });
  const isServed = (offer: Offer): boolean =>
    offer.publisherId === publisherId || offer.campaign.provisions.get(publisherId)?.active === true;
  const hasOffer = [...offers.values()].some(isServed);
  const has = { advertiser: rows[0]?.advertiser === true, campaign: rows[0]?.campaign === true, offer: hasOffer };
  return (['advertiser', 'campaign', 'offer'] as const).filter((name) => has[name]);
}
