import type { CapMetric, CapPeriod, TotalCap } from '../catalog/rules.ts';
import type { Model } from '../learning/model.ts';
import type { Executor } from '../platform/db/pool.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { type LimitedTotal, nextCostOf, totalsKey } from './caps.ts';
import { type CompiledGoal, type Delivery, deliveryOf } from './goals.ts';
import { type PacedRules, type PlanInput, plannedUse } from './pacing.ts';
import { loadTrueUsage } from './slice-rows.ts';
import { totalsAt } from './totals.ts';
import {
  type Amounts,
  capPeriod,
  createUsageTable,
  fieldOf,
  goalUsageOf,
  limitOf,
  periodsOf,
  type UsageTable,
} from './usage.ts';

/** Where a total cap or budget stands in its current period: counts, or money in the currency of the payout. */
export type Standing = {
  /** null: over all publishers. */
  publisherId: number | null;
  metric: CapMetric;
  per: CapPeriod;
  limit: number;
  /** Booked money, or what was counted. */
  spent: number;
  /** What open answers may still take. */
  reserved: number;
  /** Money that events would have paid, had it fitted; 0 of counts. */
  unbilled: number;
  /** Remaining amount or count; 0 if the limit was exceeded. */
  remaining: number;
  /** Price of the next paid event, the cheapest of several publishers; 1 for counts. */
  nextCost: number;
  /** Whether the next event does not fit into what is left. */
  exhausted: boolean;
  /** What the pacing plan has used by now; null: there is no plan. */
  planned: number | null;
};

/** Where a campaign stands: its total caps and budgets in their current periods, and its goal. */
export type CampaignStanding = { limits: Standing[]; delivery: Delivery | null };

type StandingRules = PacedRules & { goal: CompiledGoal | null };

type Asked = {
  totals: readonly LimitedTotal[];
  nowMs: number;
  /** By which plans are made. */
  model: Model;
  /** null: without plans and goals. */
  rulesOf: (campaignId: number) => StandingRules | null;
};

/** By campaign id; missing: it has neither caps nor a goal. */
export async function findStandings(executor: Executor, asked: Asked): Promise<Map<number, CampaignStanding>> {
  const { totals: limited, nowMs, model } = asked;
  const standings = new Map<number, CampaignStanding>();
  const periods = periodsOf(limited, nowMs);
  if (periods.length === 0) return standings;
  const campaignIds = [...new Set(limited.map(({ campaignId }) => campaignId))];
  const table = createUsageTable();
  for (const used of await loadTrueUsage(executor, periods, campaignIds)) table.set(used);
  const byKey = new Map(limited.map((total) => [totalsKey(total.campaignId, total.publisherId), total]));
  const totals = totalsAt(table, (key) => byKey.get(key), nowMs);
  for (const total of limited) {
    const rules = asked.rulesOf(total.campaignId);
    const standing = getOrInsert(standings, total.campaignId, () => ({ limits: [], delivery: null }));
    standing.limits.push(
      ...total.caps.map((cap) => standingOf(cap, { total, table, rules, input: { totals, model, nowMs } })),
    );
    if (total.goal !== null && rules !== null)
      standing.delivery = deliveryOf(rules, goalUsageOf(table, total, total.goal), asked);
  }
  return standings;
}

type Known = { total: LimitedTotal; table: UsageTable; rules: PacedRules | null; input: PlanInput };

function standingOf(cap: TotalCap, { total, table, rules, input }: Known): Standing {
  const { metric, per, limit } = cap;
  const { campaignId, publisherId, timeZone } = total;
  const unit = metric === 'budget' ? 1_000_000 : 1;
  const used = table.get(campaignId, publisherId, capPeriod(cap, timeZone, input.nowMs));
  const { spent, reserved, unbilled } = amountsOf(metric, used);
  const key = totalsKey(campaignId, publisherId);
  const paced = rules?.totalCaps.find((one) => one.key === key && one.cap.metric === metric && one.cap.per === per);
  const planned = rules === null || paced === undefined ? null : plannedUse(paced, rules, input);
  const [most, next] = [Math.round(limitOf(cap)), nextCostOf(metric, total)];
  return {
    publisherId,
    metric,
    per,
    limit,
    spent: spent / unit,
    reserved: reserved / unit,
    unbilled: unbilled / unit,
    planned: planned === null ? null : Math.round(planned) / unit,
    remaining: Math.max(0, most - spent) / unit,
    nextCost: next / unit,
    exhausted: spent + next > most,
  };
}

function amountsOf(metric: CapMetric, used: Amounts): { spent: number; reserved: number; unbilled: number } {
  const held = (all: number, spent: number) => ({ spent, reserved: Math.max(0, all - spent) });
  if (metric === 'budget') return { ...held(used.micros, used.spentMicros), unbilled: used.unbilledMicros };
  return metric === 'impressions'
    ? { ...held(used.impressions, used.countedImpressions), unbilled: 0 }
    : { spent: used[fieldOf(metric)], reserved: 0, unbilled: 0 };
}
