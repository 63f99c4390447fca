import type { CapMetric, CapPeriod } from '../catalog/rules.ts';
import type { Executor } from '../platform/db/pool.ts';
import { type ActiveCaps, totalsKey } from './caps.ts';
import { type PacedRules, plannedUse } from './pacing.ts';
import { loadTrueUsage } from './slice-rows.ts';
import { totalsAt } from './totals.ts';
import { type Amounts, createUsageTable, periodName, periodNames } from './usage.ts';

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
  /** What the pacing plan has used by now; null: there is no plan. */
  planned: number | null;
};

type Asked = { campaignId: number; nowMs: number; rules: PacedRules | null };

/** The total caps and budgets of a campaign in their current periods. `rules` null: without their plans. */
export async function findStandings(
  executor: Executor,
  activeCaps: ActiveCaps,
  { campaignId, nowMs, rules }: Asked,
): Promise<Standing[]> {
  const limited = activeCaps.totals.filter((total) => total.campaignId === campaignId);
  const periods = new Set(limited.flatMap(({ timeZone }) => periodNames(timeZone, nowMs)));
  if (periods.size === 0) return [];
  const table = createUsageTable();
  for (const used of await loadTrueUsage(executor, [...periods], campaignId)) table.set(used);
  const totals = totalsAt(table, activeCaps, nowMs);
  return limited.flatMap(({ publisherId, timeZone, caps }) =>
    caps.map(({ metric, per, limit }) => {
      const unit = metric === 'budget' ? 1_000_000 : 1;
      const { spent, reserved, unbilled } = amountsOf(
        metric,
        table.get(campaignId, publisherId, periodName(per, timeZone, nowMs)),
      );
      const cap = rules?.totalCaps.find(
        ({ key, cap: own }) => key === totalsKey(campaignId, publisherId) && own.metric === metric && own.per === per,
      );
      const planned = rules === null || cap === undefined ? null : plannedUse(cap, rules, totals, nowMs);
      return {
        ...{ publisherId, metric, per, limit, spent: spent / unit, reserved: reserved / unit },
        ...{ unbilled: unbilled / unit, planned: planned === null ? null : Math.round(planned) / unit },
      };
    }),
  );
}

function amountsOf(metric: CapMetric, used: Amounts): { spent: number; reserved: number; unbilled: number } {
  const held = (all: number, spent: number) => ({ spent, reserved: Math.max(0, all - spent) });
  if (metric === 'budget') return { ...held(used.micros, used.spentMicros), unbilled: used.unbilledMicros };
  return metric === 'clicks'
    ? { spent: used.clicks, reserved: 0, unbilled: 0 }
    : { ...held(used.impressions, used.countedImpressions), unbilled: 0 };
}
