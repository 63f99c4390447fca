import type { CapMetric, CapPeriod } from '../catalog/rules.ts';
import type { Campaign, Snapshot } from '../catalog/types.ts';
import type { Executor } from '../platform/db/pool.ts';
import { activeCapsOf } from './caps.ts';
import { capPeriod, limitOf } from './usage.ts';

/** A budget that is spent, or a total cap that is reached. */
export type ReachedBudget = {
  campaign: Campaign;
  /** null: over all publishers. */
  publisherId: number | null;
  metric: CapMetric;
  per: CapPeriod;
  /** Such as `day 2026-11-22T00:00:00.000Z`. */
  period: string;
  /** Money in the currency of the payout, or a count. */
  limit: number;
};

/** Tells the budgets and caps of a campaign apart: its own, and those of publishers it is served to. */
export const budgetKey = ({ campaign, publisherId, metric, period }: ReachedBudget): string =>
  [campaign.id, ...(publisherId === null ? [] : [publisherId]), ...(metric === 'budget' ? [] : [metric]), period].join(
    ' ',
  );

/**
 * The budgets that campaigns have spent, and the total caps that they have reached, or to a share (0 to 1), in the
 * periods of an instant. What is only reserved counts in none.
 */
export async function findReachedBudgets(
  executor: Executor,
  snapshot: Snapshot,
  atMs: number,
  share = 1,
): Promise<ReachedBudget[]> {
  const campaigns = new Map([...snapshot.offers.values()].map(({ campaign }) => [campaign.id, campaign]));
  const budgets = activeCapsOf(snapshot).totals.flatMap(({ campaignId, publisherId, timeZone, caps }) =>
    caps
      .filter(({ limit }) => Number.isFinite(limit)) // rules may be written by hand
      .map((cap) => ({
        ...{ campaign: campaigns.get(campaignId) as Campaign, publisherId, metric: cap.metric, per: cap.per },
        ...{ period: capPeriod(cap, timeZone, atMs), limit: cap.limit },
        from: Math.round(limitOf(cap) * share),
      })),
  );
  if (budgets.length === 0) return [];
  const { rows } = await executor.query<{ position: string }>(
    `select position::text
    from unnest($1::integer[], $2::integer[], $3::text[], $4::text[], $5::bigint[]) with ordinality
      as b (campaign_id, publisher_id, period, metric, reached_from, position)
    join campaign_usage u using (campaign_id, publisher_id, period)
    where reached_from <= case metric
      when 'budget' then u.spent_micros when 'clicks' then u.clicks when 'impressions' then u.counted_impressions
      else u.own_events end`,
    [
      budgets.map(({ campaign }) => campaign.id),
      budgets.map(({ publisherId }) => publisherId ?? 0),
      budgets.map(({ period }) => period),
      budgets.map(({ metric }) => metric),
      budgets.map(({ from }) => from),
    ],
  );
  return rows.flatMap(({ position }) => budgets[Number(position) - 1] ?? []);
}
