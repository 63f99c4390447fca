import type pg from 'pg';
import type { Registry } from 'prom-client';
import { activeCapsOf } from '../budgets/caps.ts';
import type { Delivery } from '../budgets/goals.ts';
import { findStandings } from '../budgets/standing.ts';
import type { Goal } from '../catalog/rules.ts';
import type { CatalogStore } from '../catalog/store.ts';
import type { Campaign, Snapshot } from '../catalog/types.ts';
import { shownOutcome } from '../decision/campaign-outcomes.ts';
import { rulesOfDraft } from '../decision/draft-rules.ts';
import type { Model } from '../learning/model.ts';
import type { ModelSource } from '../learning/source.ts';
import type { Executor } from '../platform/db/pool.ts';
import { dayMs } from '../platform/lib/time.ts';
import { registerGauge } from '../platform/metrics/gauges.ts';
import { findOutcomes } from './request-log/outcomes.ts';

/** Goal of a campaign, with its delivery so far. */
export type PursuedGoal = { campaign: Campaign; goal: Goal; delivery: Delivery };

/** Returns the goals of active campaigns whose deadline has not passed. */
export async function findGoals(
  executor: Executor,
  { snapshot, model, nowMs }: { snapshot: Snapshot; model: Model; nowMs: number },
): Promise<PursuedGoal[]> {
  const campaigns = new Map<number, Campaign>();
  for (const [id, [offer]] of snapshot.offersByCampaign) {
    if (offer === undefined) continue;
    const { active, stopped, goal } = offer.campaign;
    if (active && stopped === null && goal !== null && goal.byMs > nowMs) campaigns.set(id, offer.campaign);
  }
  if (campaigns.size === 0) return [];
  const totals = activeCapsOf(snapshot).totals.filter(
    ({ campaignId, publisherId }) => publisherId === null && campaigns.has(campaignId),
  );
  const zoneOf = (publisherId: number): string => snapshot.publishers.get(publisherId)?.timeZone ?? 'UTC';
  const standings = await findStandings(executor, {
    totals,
    model,
    nowMs,
    rulesOf: (id) => {
      const campaign = campaigns.get(id);
      return campaign === undefined ? null : rulesOfDraft(campaign, zoneOf(campaign.publisherId));
    },
  });
  return [...campaigns.values()].flatMap((campaign) => {
    const delivery = standings.get(campaign.id)?.delivery ?? null;
    return delivery === null || campaign.goal === null ? [] : { campaign, goal: campaign.goal, delivery };
  });
}

export type GoalSources = {
  pool: pg.Pool;
  catalog: CatalogStore;
  model: ModelSource;
  now: () => number;
};

/** Registers a gauge of goal delivery. All processes report the same values. */
export const registerGoalMetrics = (registry: Registry, { pool, catalog, model, now }: GoalSources): void =>
  registerGauge(registry, {
    name: 'perkwire_goal_percent',
    help: 'Delivered part of the events that the plan of a campaign goal expects by now, in percent.',
    labelName: 'campaign',
    maxAgeMs: 15_000,
    now,
    read: async () =>
      (await findGoals(pool, { snapshot: await catalog.checked(), model: model.current(), nowMs: now() })).map(
        ({ campaign, delivery }) => ({
          label: String(campaign.id),
          value: delivery.percent,
        }),
      ),
  });

/**
 * Rule that excluded a campaign, with its share of decisions. For each decision, only the first rule to exclude the
 * campaign counts.
 */
export type HoldBack = { rule: string; share: number };

/** Returns the rules that excluded a campaign from its owner's decisions in the last day, most frequent first. */
export async function findHoldBacks(
  executor: Executor,
  { id, publisherId }: { id: number; publisherId: number },
  nowMs: number,
): Promise<HoldBack[]> {
  const outcomes = await findOutcomes(executor, { publisherId, campaignId: id, sinceMs: nowMs - dayMs });
  const all = outcomes.reduce((sum, row) => row.decisions + sum, 0);
  return outcomes
    .filter(({ outcome }) => outcome !== shownOutcome)
    .map(({ outcome, decisions }) => ({ rule: outcome, share: Math.round((decisions / all) * 1000) / 1000 }))
    .filter(({ share }) => share > 0);
}
