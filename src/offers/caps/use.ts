import type { CapMetric, CapPeriod } from '../../catalog/rules/rules.ts';
import { capPeriods } from '../../catalog/rules/rules.ts';
import { type CapUse, totalsKey } from '../../decision/types.ts';
import { plainArray, quoted } from '../../platform/db/array-literal.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { periodOf } from '../../platform/lib/time-zone.ts';
import type { LimitedTotal } from './needs.ts';

/** Amounts of one total; `micros` is money in millionths. */
export type Amounts = { impressions: number; clicks: number; micros: number };

/** A change of what a campaign has used in one period. */
export type Delta = Amounts & { campaignId: number; publisherId: number | null; period: string };

/** What a campaign has used in one period, after a change. */
export type Used = Delta;

export const nothingUsed: Amounts = { impressions: 0, clicks: 0, micros: 0 };

/** `lifetime`, or the kind of a period with its start: `hour 2026-11-21T10:00:00.000Z`. */
export function periodName(per: CapPeriod, timeZone: string, atMs: number): string {
  return per === 'lifetime' ? per : `${per} ${new Date(periodOf(per, timeZone, atMs).startMs).toISOString()}`;
}

/** The four periods that hold an instant. */
export const periodNames = (timeZone: string, atMs: number): string[] =>
  capPeriods.map((per) => periodName(per, timeZone, atMs));

/** One change of a total, in each of the periods. */
export const deltasOf = (total: LimitedTotal, periods: readonly string[], amounts: Amounts): Delta[] =>
  periods.map((period) => ({ campaignId: total.campaignId, publisherId: total.publisherId, period, ...amounts }));

const keyOf = ({ campaignId, publisherId, period }: Delta): string => `${totalsKey(campaignId, publisherId)} ${period}`;

/** Changes of the same total in the same period become one. */
export function sumDeltas(deltas: readonly Delta[]): Delta[] {
  const sums = new Map<string, Delta>();
  for (const delta of deltas) {
    const key = keyOf(delta);
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, { ...delta });
    else {
      sum.impressions += delta.impressions;
      sum.clicks += delta.clicks;
      sum.micros += delta.micros;
    }
  }
  return [...sums.values()].filter(
    ({ impressions, clicks, micros }) => impressions !== 0 || clicks !== 0 || micros !== 0,
  );
}

const columns = 'campaign_id, publisher_id, period, impressions, clicks, micros';

/**
 * Nine billion: far beyond any budget. Whoever reports absurd amounts must not make a sum that nobody can add to any
 * more.
 */
const mostMicros = 9e15;

/* Everyone changes rows in the order of their keys, and nobody waits in a circle. */
const addSql = `
insert into campaign_use as known (${columns})
select ${columns} from unnest($1::integer[], $2::integer[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) as given (${columns})
order by campaign_id, publisher_id, period
on conflict (campaign_id, publisher_id, period) do update set
  impressions = known.impressions + excluded.impressions, clicks = known.clicks + excluded.clicks,
  micros = greatest(least(known.micros + excluded.micros, ${mostMicros}), -${mostMicros})
returning ${columns}`;

/** Adds to what campaigns have used. The rows stay locked until the transaction ends. @returns what is used now */
export async function addUse(executor: Executor, deltas: readonly Delta[]): Promise<Used[]> {
  const sums = sumDeltas(deltas);
  if (sums.length === 0) return [];
  const { rows } = await executor.query<UseRow>({
    name: 'add_use',
    text: addSql,
    values: [
      plainArray(sums.map((sum) => sum.campaignId)),
      plainArray(sums.map((sum) => sum.publisherId ?? 0)),
      `{${sums.map((sum) => quoted(sum.period)).join(',')}}`,
      plainArray(sums.map((sum) => sum.impressions)),
      plainArray(sums.map((sum) => sum.clicks)),
      plainArray(sums.map((sum) => Math.round(sum.micros))),
    ],
  });
  return rows.map(toUsed);
}

/** What was used in any of the periods. */
export async function loadUse(executor: Executor, periods: readonly string[]): Promise<Used[]> {
  const { rows } = await executor.query<UseRow>({
    name: 'load_use',
    text: `select ${columns} from campaign_use where period = any($1::text[])`,
    values: [periods],
  });
  return rows.map(toUsed);
}

/** How long what was used in a period is kept after the period began (milliseconds). */
const keptMs = { hour: 3 * dayMs, day: 70 * dayMs, month: 800 * dayMs };

/** Removes what nobody asks for any more: periods that are long over. */
export async function deleteOldUsage(executor: Executor, nowMs: number): Promise<void> {
  for (const [per, ms] of Object.entries(keptMs)) {
    await executor.query("delete from campaign_use where period like $1 || ' %' and period < $1 || ' ' || $2", [
      per,
      new Date(nowMs - ms).toISOString(),
    ]);
  }
}

type UseRow = {
  campaign_id: number;
  publisher_id: number;
  period: string;
  impressions: string;
  clicks: string;
  micros: string;
};

const toUsed = (row: UseRow): Used => ({
  campaignId: row.campaign_id,
  publisherId: row.publisher_id === 0 ? null : row.publisher_id,
  period: row.period,
  impressions: Number(row.impressions),
  clicks: Number(row.clicks),
  micros: Number(row.micros),
});

/** Uses by total and period, as decisions ask for them. */
export type UseTable = {
  get: (campaignId: number, publisherId: number | null, period: string) => Amounts;
  set: (used: Used) => void;
  add: (delta: Delta) => void;
  /** A copy of what is asked of it, as it was when it was first asked. */
  fork: () => UseTable;
};

export function createUseTable(from?: UseTable): UseTable {
  const own = new Map<string, Amounts>();
  const table: UseTable = {
    get: (campaignId, publisherId, period) => {
      const key = `${totalsKey(campaignId, publisherId)} ${period}`;
      let amounts = own.get(key);
      if (amounts === undefined) {
        amounts = from?.get(campaignId, publisherId, period) ?? nothingUsed;
        if (from !== undefined) own.set(key, amounts);
      }
      return amounts;
    },
    set: (used) => own.set(keyOf(used), { impressions: used.impressions, clicks: used.clicks, micros: used.micros }),
    add: (delta) => {
      const { campaignId, publisherId, period } = delta;
      const before = table.get(campaignId, publisherId, period);
      table.set({
        ...delta,
        impressions: before.impressions + delta.impressions,
        clicks: before.clicks + delta.clicks,
        micros: before.micros + delta.micros,
      });
    },
    fork: () => createUseTable(table),
  };
  return table;
}

const metrics: readonly [CapMetric, keyof Amounts][] = [
  ['impressions', 'impressions'],
  ['clicks', 'clicks'],
  ['budget', 'micros'],
];

/** What a total has used in each of its current periods. */
export function capUseOf(table: UseTable, total: LimitedTotal, atMs: number): CapUse {
  const amounts = capPeriods.map(
    (per) => [per, table.get(total.campaignId, total.publisherId, periodName(per, total.timeZone, atMs))] as const,
  );
  const use = metrics.map(([metric, field]) => [
    metric,
    Object.fromEntries(amounts.map(([per, amount]) => [per, amount[field]])),
  ]);
  return Object.fromEntries(use) as CapUse;
}
