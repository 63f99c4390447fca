import { isOwnKind, type OwnKind } from '../catalog/event-kinds.ts';
import { phaseOf } from '../catalog/provisioning.ts';
import { type CapMetric, type CapPeriod, type PayingEvent, payingEventOf, type TotalCap } from '../catalog/rules.ts';
import type { Campaign, Payout, Snapshot } from '../catalog/types.ts';
import type { Executor } from '../platform/db/pool.ts';
import { activeCapsOf, type LimitedTotal, nextCostOf } from './caps.ts';
import { capPeriod, limitOf } from './usage/usage.ts';

/** Budget or total cap that is used up, or whose remainder does not cover the next event. */
export type ReachedBudget = {
  campaign: Campaign;
  /** Publisher that the cap applies to, or null if it applies to all publishers together. */
  publisherId: number | null;
  metric: CapMetric;
  per: CapPeriod;
  /** Period key, such as `day 2026-11-22T00:00:00.000Z`. */
  period: string;
  /** Cap limit, either as an amount in the payout currency or as a count. The other amounts have the same unit. */
  limit: number;
  spent: number;
  remaining: number;
  nextCost: number;
  /** Event that is paid or counted next. */
  nextEvent: PayingEvent | OwnKind;
};

/**
 * Builds a key that distinguishes the budgets and caps of a campaign, including those that apply to a single publisher.
 */
export const budgetKey = ({ campaign, publisherId, metric, period }: ReachedBudget): string =>
  [campaign.id, ...(publisherId === null ? [] : [publisherId]), ...(metric === 'budget' ? [] : [metric]), period].join(
    ' ',
  );

/**
 * Finds the budgets and total caps that are reached in the periods containing `atMs`. For running campaigns, it also
 * finds budgets and caps whose remainder does not cover the next event. Reserved amounts are ignored.
 */
export const findReachedBudgets = (executor: Executor, snapshot: Snapshot, atMs: number): Promise<ReachedBudget[]> =>
  findUsed(executor, snapshot, atMs, (cap, total, campaign) => {
    const limit = Math.round(limitOf(cap));
    if (!campaign.active || phaseOf(campaign, atMs) !== 'running') return limit;
    return Math.min(limit, Math.floor(limit - nextCostOf(cap.metric, total)) + 1);
  });

/**
 * Finds the budgets and total caps whose used share is at least the given share (0 to 1). Reserved amounts are ignored.
 */
export const findUsedBudgets = (
  executor: Executor,
  snapshot: Snapshot,
  atMs: number,
  share: number,
): Promise<ReachedBudget[]> => findUsed(executor, snapshot, atMs, (cap) => Math.round(limitOf(cap) * share));

/** Returns the minimum usage at which a cap is listed: an amount in millionths, or a count. */
type ListedFrom = (cap: TotalCap, total: LimitedTotal, campaign: Campaign) => number;

async function findUsed(
  executor: Executor,
  snapshot: Snapshot,
  atMs: number,
  listedFrom: ListedFrom,
): Promise<ReachedBudget[]> {
  const campaigns = new Map([...snapshot.offers.values()].map(({ campaign }) => [campaign.id, campaign]));
  const budgets = activeCapsOf(snapshot).totals.flatMap((total) => {
    const campaign = campaigns.get(total.campaignId) as Campaign;
    return total.caps
      .filter(({ limit }) => Number.isFinite(limit)) // rules may be written by hand
      .map((cap) => ({
        campaign,
        publisherId: total.publisherId,
        metric: cap.metric,
        per: cap.per,
        limit: cap.limit,
        period: capPeriod(cap, total.timeZone, atMs),
        most: Math.round(limitOf(cap)),
        next: nextCostOf(cap.metric, total),
        from: listedFrom(cap, total, campaign),
      }));
  });
  if (budgets.length === 0) return [];
  const { rows } = await executor.query<{ position: string; used: string }>(
    `select position::text, used::text
    from unnest($1::integer[], $2::integer[], $3::text[], $4::text[], $5::bigint[]) with ordinality
      as b (campaign_id, publisher_id, period, metric, listed_from, position)
    left join campaign_usage u using (campaign_id, publisher_id, period)
    cross join lateral (select coalesce(case metric
      when 'budget' then u.spent_micros when 'clicks' then u.clicks when 'impressions' then u.counted_impressions
      else u.own_events end, 0) as used) amount
    where listed_from <= used`,
    [
      budgets.map(({ campaign }) => campaign.id),
      budgets.map(({ publisherId }) => publisherId ?? 0),
      budgets.map(({ period }) => period),
      budgets.map(({ metric }) => metric),
      budgets.map(({ from }) => from),
    ],
  );
  return rows.flatMap(({ position, used }) => {
    const budget = budgets[Number(position) - 1];
    if (budget === undefined) return [];
    const { most, next, from: _from, ...reached } = budget;
    const unit = budget.metric === 'budget' ? 1_000_000 : 1;
    const [spent, remaining] = [Number(used) / unit, Math.max(0, most - Number(used)) / unit];
    const nextEvent = nextEventOf(budget.metric, budget.campaign.payout);
    return [{ ...reached, spent, remaining, nextCost: next / unit, nextEvent }];
  });
}

function nextEventOf(metric: CapMetric, payout: Payout): PayingEvent | OwnKind {
  if (isOwnKind(metric)) return metric;
  if (metric === 'budget') return payingEventOf(payout.kind);
  return metric === 'clicks' ? 'click' : 'impression';
}
