import type { ReviewedKinds } from '../drafts/apply.ts';
import { drafts } from '../drafts/draft.ts';
import type { Resource } from '../management/resource.ts';
import type { Work } from '../management/unit-of-work.ts';
import type { ViewedAdvertiser } from '../shell/context.ts';

/** Resources limited to the rows of one advertiser. Advertiser accounts can read data only through these resources. */
type OwnRows = { campaigns: Resource; offers: Resource; creatives: Resource; drafts: Resource };

/** Returns the resources limited to an advertiser. Other advertisers' rows are treated as unknown. */
export function ownRows(kinds: ReviewedKinds, { id }: ViewedAdvertiser): OwnRows {
  const own = `select id from campaigns where publisher_id = $1 and advertiser_id = ${Number(id)}`;
  const offers = `select id from offers where deleted_at is null and campaign_id in (${own})`;
  return {
    campaigns: { ...kinds.campaigns, scope: () => `publisher_id = $1 and advertiser_id = ${Number(id)}` },
    offers: { ...kinds.offers, scope: () => `publisher_id = $1 and campaign_id in (${own})` },
    creatives: { ...kinds.creatives, scope: () => `offer_id in (${offers})` },
    drafts: { ...drafts, scope: () => `publisher_id = $1 and advertiser_id = ${Number(id)}` },
  };
}

/** Returns the publishers that serve each campaign, including the campaign's owner. */
export async function readCarriers(
  { executor, publisherId }: Work,
  campaignIds: readonly number[],
): Promise<ReadonlyMap<number, readonly { id: number; name: string }[]>> {
  const { rows } = await executor.query<{ campaign_id: number; id: number; name: string }>(
    `select campaign_id, p.id, p.name from (
      select campaign_id, publisher_id from campaign_publishers where campaign_id = any($1) and active
      union select id, publisher_id from campaigns where id = any($1) and publisher_id = $2
    ) served join publishers p on p.id = served.publisher_id order by p.name, p.id`,
    [campaignIds, publisherId],
  );
  const carriers = new Map<number, { id: number; name: string }[]>(campaignIds.map((id) => [id, []]));
  for (const { campaign_id, id, name } of rows) carriers.get(campaign_id)?.push({ id, name });
  return carriers;
}

/**
 * Returns all of the advertiser's campaigns, including removed ones. For a restricted key, returns only the campaigns
 * that it may see.
 */
export async function readCampaigns(
  { executor, publisherId, actor }: Work,
  advertiserId: number,
): Promise<ReadonlyMap<number, { name: string; currency: string }>> {
  const limit = actor.restrictions?.resources ?? null;
  const { rows } = await executor.query<{ id: number; name: string; currency: string }>(
    `select id, name, payout_currency as currency from campaigns
    where publisher_id = $1 and advertiser_id = $2 and ($3::integer[] is null or id = any($3)) order by id`,
    [publisherId, advertiserId, limit === null ? null : [...(limit.campaigns ?? [])]],
  );
  return new Map(rows.map(({ id, ...row }) => [id, row]));
}
