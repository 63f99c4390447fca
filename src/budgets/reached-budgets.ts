import { maxCostMicros, payoutOf } from '../catalog/provisioning.ts';
import type { CapPeriod } from '../catalog/rules.ts';
import type { Campaign, Snapshot } from '../catalog/types.ts';
import type { Executor } from '../platform/db/pool.ts';
import { activeCapsOf } from './caps.ts';
import { periodName } from './usage.ts';

/** A budget that is used up. */
export type ReachedBudget = {
  campaign: Campaign;
  /** null: over all publishers. */
  publisherId: number | null;
  per: CapPeriod;
  /** Such as `day 2026-11-22T00:00:00.000Z`. */
  period: string;
  /** Money in the currency of the payout. */
  limit: number;
};

/** Tells the budgets of a campaign apart: its own, and those of publishers it is served to. */
export const budgetKey = ({ campaign, publisherId, period }: ReachedBudget): string =>
  [campaign.id, ...(publisherId === null ? [] : [publisherId]), period].join(' ');

/**
 * The budgets that campaigns have used up, or to a share (0 to 1), in the periods of an instant: those of which less is
 * left than an event costs are used up, as decisions see it. Slices that processes hold are not used yet.
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
      .filter(({ metric }) => metric === 'budget')
      .map(({ per, limit }) => {
        const campaign = campaigns.get(campaignId) as Campaign;
        const limitMicros = Math.round(limit * 1_000_000);
        const fromMicros =
          share < 1
            ? Math.round(limitMicros * share)
            : Math.floor(limitMicros - minCostMicros(campaign, publisherId)) + 1;
        return { campaign, publisherId, per, period: periodName(per, timeZone, atMs), limit, fromMicros };
      }),
  );
  if (budgets.length === 0) return [];
  const { rows } = await executor.query<{ position: string }>(
    `select position::text
    from unnest($1::integer[], $2::integer[], $3::text[], $4::bigint[]) with ordinality
      as b (campaign_id, publisher_id, period, from_micros, position)
    join campaign_usage u using (campaign_id, publisher_id, period)
    where u.micros - (
      select coalesce(sum(s.micros), 0) from cap_slices s
      where s.campaign_id = u.campaign_id and s.publisher_id = u.publisher_id and u.period = any(s.periods)
    ) >= b.from_micros`,
    [
      budgets.map(({ campaign }) => campaign.id),
      budgets.map(({ publisherId }) => publisherId ?? 0),
      budgets.map(({ period }) => period),
      budgets.map(({ fromMicros }) => fromMicros),
    ],
  );
  return rows.flatMap(({ position }) => budgets[Number(position) - 1] ?? []);
}

/** What the cheapest paid event costs, at a publisher or wherever the campaign is served (null), in millionths. */
function minCostMicros(campaign: Campaign, publisherId: number | null): number {
  const served = [...campaign.provisions.values()].filter(({ active }) => active).map((one) => one.publisherId);
  const payouts = (publisherId === null ? served : [publisherId]).map((id) => payoutOf(campaign, id));
  return Math.min(...(payouts.length > 0 ? payouts : [campaign.payout]).map(maxCostMicros));
}
