import type { CapMetric, CapPeriod, TotalCap } from '../catalog/rules.ts';
import type { Model } from '../learning/model.ts';
import type { Executor } from '../platform/db/pool.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { periodOf, timeOf } from '../platform/lib/time-zone.ts';
import { type LimitedTotal, nextCostOf } from './caps.ts';
import { type CompiledGoal, type Delivery, deliveryOf } from './goals.ts';
import { type PacedRules, type PlanCurve, type PlanInput, planCurve, plannedUse, projectedUse } from './pacing.ts';
import { loadTrueUsage } from './slices/rows.ts';
import { totalsAt } from './usage/totals.ts';
import {
  type Amounts,
  capPeriod,
  createUsageTable,
  fieldOf,
  goalUsageOf,
  limitOf,
  periodsOf,
  type UsageTable,
} from './usage/usage.ts';

/**
 * State of a total cap or budget in its current period. The figures are event counts or, for budgets, amounts in the
 * payout currency.
 */
export type Standing = {
  /** Publisher that the cap applies to, or null if it applies to all publishers together. */
  publisherId: number | null;
  metric: CapMetric;
  per: CapPeriod;
  limit: number;
  /** Amount booked, or number of events counted. */
  spent: number;
  /** Amount or number of events that is reserved for offers already served. */
  reserved: number;
  /** Revenue from events that did not fit into the budget and were not booked. 0 for event counts. */
  unbilled: number;
  /** Remaining amount or number of events. 0 if the limit is exceeded. */
  remaining: number;
  /** Price of the next paid event, or the lowest price if there are several publishers. 1 for event counts. */
  nextCost: number;
  /** Whether the remainder is too small for the next event. */
  exhausted: boolean;
  /** Usage planned by now according to the pacing plan, or null if there is no plan. */
  planned: number | null;
  /** End of the current period in epoch milliseconds, or null for lifetime caps. */
  endMs: number | null;
  /** Expected use at the end of the day or month at the current rate, but at most the limit. Null if unknown. */
  projected: number | null;
  /**
   * Time when the limit is expected to be reached at the current rate, in epoch milliseconds. Null if it is already
   * reached or is not expected to be reached in the current period.
   */
  reachedMs: number | null;
  /** Returns the plan of the current period in detail, or null if there is no plan. */
  curve: () => PlanCurve | null;
};

/** State of a campaign's total caps and budgets in their current periods, and progress towards its goal. */
export type CampaignStanding = { limits: Standing[]; delivery: Delivery | null };

type StandingRules = PacedRules & { goal: CompiledGoal | null };

type StandingsQuery = {
  totals: readonly LimitedTotal[];
  nowMs: number;
  /** Model used to compute pacing plans. */
  model: Model;
  /** Returns a campaign's pacing rules and goal. Null leaves out the plan and goal. */
  rulesOf: (campaignId: number) => StandingRules | null;
};

/** Loads the state of caps and goals, keyed by campaign ID. Campaigns that have neither caps nor goals are left out. */
export async function findStandings(executor: Executor, query: StandingsQuery): Promise<Map<number, CampaignStanding>> {
  const { totals: limited, nowMs, model } = query;
  const standings = new Map<number, CampaignStanding>();
  const periods = periodsOf(limited, nowMs);
  if (periods.length === 0) return standings;
  const campaignIds = [...new Set(limited.map(({ campaignId }) => campaignId))];
  const table = createUsageTable();
  for (const used of await loadTrueUsage(executor, periods, campaignIds)) table.set(used);
  const byKey = new Map(limited.map((total) => [total.key, total]));
  const totals = totalsAt(table, (key) => byKey.get(key), nowMs);
  for (const total of limited) {
    const rules = query.rulesOf(total.campaignId);
    const standing = getOrInsert(standings, total.campaignId, () => ({ limits: [], delivery: null }));
    standing.limits.push(
      ...total.caps.map((cap) => standingOf(cap, { total, table, rules, input: { totals, model, nowMs } })),
    );
    if (total.goal !== null && rules !== null)
      standing.delivery = deliveryOf(rules, goalUsageOf(table, total, total.goal), query);
  }
  return standings;
}

type StandingContext = { total: LimitedTotal; table: UsageTable; rules: PacedRules | null; input: PlanInput };

function standingOf(cap: TotalCap, { total, table, rules, input }: StandingContext): Standing {
  const { metric, per, limit } = cap;
  const { key, publisherId, timeZone } = total;
  const unit = metric === 'budget' ? 1_000_000 : 1;
  const used = table.get(key, capPeriod(cap, timeZone, input.nowMs));
  const { spent, reserved, unbilled } = amountsOf(metric, used);
  const paced = rules?.totalCaps.find(
    (totalCap) => totalCap.key === key && totalCap.cap.metric === metric && totalCap.cap.per === per,
  );
  const planned = rules === null || paced === undefined ? null : plannedUse(paced, rules, input);
  const projected = rules === null || paced === undefined ? null : projectedUse(paced, rules, input);
  const [most, next] = [Math.round(limitOf(cap)), nextCostOf(metric, total)];
  const endMs = per === 'lifetime' ? null : periodOf(per, timeZone, input.nowMs).endMs;
  return {
    publisherId,
    metric,
    per,
    limit,
    spent: spent / unit,
    reserved: reserved / unit,
    unbilled: unbilled / unit,
    planned: planned === null ? null : Math.round(planned) / unit,
    endMs,
    projected: projected === null ? null : Math.round(Math.min(projected, most)) / unit,
    reachedMs: reachedAt({ used: spent + reserved, most, projected, nowMs: input.nowMs, endMs }),
    curve: () => (rules === null || paced === undefined ? null : planCurve(paced, rules, input)),
    remaining: Math.max(0, most - spent) / unit,
    nextCost: next / unit,
    exhausted: spent + next > most,
  };
}

type Course = { used: number; most: number; projected: number | null; nowMs: number; endMs: number | null };

/** Returns when a limit is reached if usage continues at the same rate until the end of the period, or null. */
function reachedAt({ used, most, projected, nowMs, endMs }: Course): number | null {
  if (projected === null || endMs === null || projected <= most || used >= most) return null;
  return Math.round(nowMs + ((endMs - nowMs) * (most - used)) / (projected - used));
}

function amountsOf(metric: CapMetric, used: Amounts): { spent: number; reserved: number; unbilled: number } {
  const splitUsage = (all: number, spent: number) => ({ spent, reserved: Math.max(0, all - spent) });
  if (metric === 'budget') return { ...splitUsage(used.micros, used.spentMicros), unbilled: used.unbilledMicros };
  return metric === 'impressions'
    ? { ...splitUsage(used.impressions, used.countedImpressions), unbilled: 0 }
    : { spent: used[fieldOf(metric)], reserved: 0, unbilled: 0 };
}

/**
 * Delivery states of a campaign: whether it is shown, and if not, why
 * (docs/reference/budgets-and-goals.md#delivery-state).
 */
export const deliveryStates = [
  'delivering',
  'limited',
  'exhausted',
  'paused',
  'stopped',
  'scheduled',
  'ended',
] as const;

export type DeliveryState = (typeof deliveryStates)[number];

/** Campaign fields, other than budgets, that determine its delivery state. */
export type CampaignStatus = {
  active: boolean;
  isStopped: boolean;
  isRemoved: boolean;
  schedule: { start_at?: string; end_at?: string };
  /** Publishers that may show the campaign. */
  publisherIds: readonly number[];
};

/**
 * Tolerance for being ahead of the pacing plan, as a share of the limit. A campaign further ahead counts as limited.
 */
const planTolerance = 0.02;

/**
 * Returns the delivery state of a campaign.
 * @param limits the campaign's budgets and total caps in their current periods
 */
export function deliveryStateOf(status: CampaignStatus, limits: readonly Standing[], nowMs: number): DeliveryState {
  const { start_at: startAt, end_at: endAt } = status.schedule;
  if (status.isStopped) return 'stopped';
  if (status.isRemoved || (timeOf(endAt) ?? Number.POSITIVE_INFINITY) <= nowMs) return 'ended';
  if (!status.active) return 'paused';
  if ((timeOf(startAt) ?? Number.NEGATIVE_INFINITY) > nowMs) return 'scheduled';
  const exhausted = limits.filter((limit) => limit.exhausted);
  if (exhausted.some(({ publisherId }) => publisherId === null)) return 'exhausted';
  const closed = new Set(exhausted.map(({ publisherId }) => publisherId));
  const { publisherIds } = status;
  if (publisherIds.length > 0 && publisherIds.every((id) => closed.has(id))) return 'exhausted';
  return closed.size > 0 || limits.some(isHeldBack) ? 'limited' : 'delivering';
}

/** Whether reservations leave no room for another event, or the campaign is ahead of its pacing plan. */
function isHeldBack({ limit, spent, reserved, nextCost, planned }: Standing): boolean {
  const used = spent + reserved;
  return used + nextCost > limit || (planned !== null && used - planned > planTolerance * limit);
}
