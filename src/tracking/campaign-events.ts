import { isBehind } from '../budgets/goals.ts';
import { budgetKey, findReachedBudgets } from '../budgets/reached-budgets.ts';
import type { Campaign, Snapshot } from '../catalog/types.ts';
import { findGoals, findHoldBacks, type GoalSources, type PursuedGoal } from '../offers/goals.ts';
import type { Executor } from '../platform/db/pool.ts';
import { dayOf, hourMs, minuteMs } from '../platform/lib/time.ts';
import { type Fact, raiseFacts } from '../webhooks/raise-events.ts';

/**
 * Length of the period that each check covers, in milliseconds. Without looking back, a budget that is reached at the
 * very end of a period would be missed, because the next check runs in the next period.
 */
const lookBackMs = minuteMs;

/**
 * Maximum time after a campaign's end at which the end is still reported, in milliseconds. The end is noticed late if
 * no worker was running.
 */
const lateAfterMs = 24 * hourMs;

/**
 * Raises operational events about campaigns (docs/reference/webhooks.md#operational-events):
 * - `campaign.budget_reached`, once per period of a budget or total cap
 * - `campaign.goal_behind`, once per day
 * - `campaign.ended`, once per campaign end
 */
export async function raiseCampaignEvents({ pool, catalog, model, now }: GoalSources): Promise<void> {
  const snapshot = await catalog.checked();
  const nowMs = now();
  await raiseFacts(pool, 'campaign.ended', endedCampaigns(snapshot, nowMs).map(endedFact));
  const reached = await Promise.all(
    [nowMs - lookBackMs, nowMs].map((atMs) => findReachedBudgets(pool, snapshot, atMs)),
  );
  const budgets = new Map(reached.flat().map((budget) => [budgetKey(budget), budget]));
  const facts = [...budgets.values()].map((budget) => {
    const { campaign, publisherId, metric, per, limit, spent, remaining, nextCost, nextEvent } = budget;
    const data = {
      campaign_id: campaign.id,
      name: campaign.name,
      metric,
      per,
      limit,
      spent,
      remaining,
      next_cost: nextCost,
      next_event: nextEvent,
      currency: campaign.payout.currency,
    };
    return { publisherId: publisherId ?? campaign.publisherId, subject: budgetKey(budget), data };
  });
  await raiseFacts(pool, 'campaign.budget_reached', facts);
  // Load the model first, because processes that make no decisions have not loaded it yet.
  if ([...snapshot.offers.values()].some(({ campaign }) => campaign.goal !== null)) await model.refresh();
  const goals = await findGoals(pool, { snapshot, model: model.current(), nowMs });
  const behind = goals.filter(({ delivery }) => isBehind(delivery));
  const raised = await Promise.all(behind.map((pursuedGoal) => behindFact(pool, pursuedGoal, nowMs)));
  await raiseFacts(pool, 'campaign.goal_behind', raised);
}

async function behindFact(executor: Executor, { campaign, goal, delivery }: PursuedGoal, nowMs: number): Promise<Fact> {
  const { percent, expected, delivered } = delivery;
  const by = new Date(goal.byMs).toISOString();
  return {
    publisherId: campaign.publisherId,
    subject: `${campaign.id} ${goal.metric} ${by} ${dayOf(nowMs)}`,
    data: {
      campaign_id: campaign.id,
      name: campaign.name,
      metric: goal.metric,
      goal: goal.count,
      by,
      percent,
      expected,
      delivered,
      held_back_by: await findHoldBacks(executor, campaign, nowMs),
    },
  };
}

function endedCampaigns({ offers }: Snapshot, nowMs: number): Campaign[] {
  const campaigns = new Set([...offers.values()].map(({ campaign }) => campaign));
  return [...campaigns].filter(({ active, rules }) => {
    const endMs = Date.parse(rules.schedule?.end_at ?? '');
    return active && endMs <= nowMs && endMs > nowMs - lateAfterMs;
  });
}

function endedFact({ id, publisherId, name, rules }: Campaign): Fact {
  const endedAt = new Date(rules.schedule?.end_at ?? '').toISOString();
  return { publisherId, subject: `${id} ${endedAt}`, data: { campaign_id: id, name, ended_at: endedAt } };
}
