import type { Executor } from '../platform/db/pool.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { dayMs, hourMs } from '../platform/lib/time.ts';
import { fromMicros } from '../platform/money.ts';
import { areRollupsCurrent, lastCompleteHour } from './hours.ts';
import { dimensionBits } from './rollup/grains.ts';

/**
 * Placement whose metric has dropped to half or less of its value in the same hours of last week. Revenue is in units
 * of `currency`.
 */
export type PlacementDrop = {
  publisherId: number;
  placement: string;
  metric: 'fill_rate' | 'revenue';
  now: number;
  before: number;
  /** Currency of the revenue, or null for other metrics. Revenue is compared separately for each currency. */
  currency: string | null;
};

/**
 * Minimum counts for a meaningful comparison. Fill rates require enough sessions both last week and now, and revenue
 * requires enough clicks and conversions last week.
 */
const [minSessionsBefore, minSessions, minPaidBefore] = [100, 20, 20];

type FillRow = {
  publisher_id: number;
  placement: string;
  sessions: string;
  filled: string;
  sessions_before: string;
  filled_before: string;
  paid_before: string;
};

type RevenueRow = { publisher_id: number; placement: string; currency: string; now: string; before: string };

const keyOf = ({ publisher_id, placement }: { publisher_id: number; placement: string }): string =>
  `${publisher_id} ${placement}`;

const sum = (column: string, isBefore: boolean): string =>
  `coalesce(sum_exact(${column}) filter (where bucket ${isBefore ? '<' : '>='} $2), 0)`;

/**
 * Compares the metrics of the last complete hours with the same hours of last week.
 * @returns null if the rollups are behind, so that no comparison is possible
 */
export async function findPlacementDrops(
  executor: Executor,
  { publisherIds, nowMs, hours }: { publisherIds: readonly number[]; nowMs: number; hours: number },
): Promise<PlacementDrop[] | null> {
  const end = new Date(lastCompleteHour(nowMs));
  const [start, weekMs] = [new Date(end.getTime() - hours * hourMs), 7 * dayMs];
  const ago = (at: Date): Date => new Date(at.getTime() - weekMs);
  if (!(await areRollupsCurrent(executor, nowMs))) return null;
  const { rows } = await executor.query<FillRow>(
    `select publisher_id, placement,
      ${sum('sessions', false)} as sessions, ${sum('sessions', true)} as sessions_before,
      ${sum('filled_sessions', false)} as filled, ${sum('filled_sessions', true)} as filled_before,
      ${sum('clicks + conversions', true)} as paid_before
    from rollups
    where publisher_id = any($1::integer[]) and grain = ${dimensionBits.placement}
      and (bucket > $2 and bucket <= $3 or bucket > $4 and bucket <= $5)
    group by publisher_id, placement`,
    [publisherIds, start, end, ago(start), ago(end)],
  );
  const paid = await executor.query<RevenueRow>(
    `select publisher_id, placement, currency,
      ${sum('revenue_micros', false)} as now, ${sum('revenue_micros', true)} as before
    from rollup_money
    where publisher_id = any($1::integer[]) and grain = ${dimensionBits.placement}
      and (bucket > $2 and bucket <= $3 or bucket > $4 and bucket <= $5)
    group by publisher_id, placement, currency order by currency`,
    [publisherIds, start, end, ago(start), ago(end)],
  );
  const revenue = new Map<string, RevenueRow[]>();
  for (const row of paid.rows) getOrInsert(revenue, keyOf(row), () => []).push(row);
  return rows.flatMap((row) => dropsOf(row, revenue.get(keyOf(row)) ?? []));
}

function dropsOf(row: FillRow, revenue: readonly RevenueRow[]): PlacementDrop[] {
  const { publisher_id: publisherId, placement } = row;
  const of = (name: keyof FillRow): number => Number(row[name]);
  const drops: PlacementDrop[] = [];
  const add = (metric: PlacementDrop['metric'], now: number, before: number, currency: string | null): void => {
    if (before > 0 && now <= before / 2) drops.push({ publisherId, placement, metric, now, before, currency });
  };
  if (of('sessions_before') >= minSessionsBefore && of('sessions') >= minSessions)
    add('fill_rate', of('filled') / of('sessions'), of('filled_before') / of('sessions_before'), null);
  if (of('paid_before') < minPaidBefore) return drops;
  // Raise only one revenue alert per placement, for the currency with the largest drop.
  const fall = ({ now, before }: RevenueRow): number => (Number(before) > 0 ? Number(now) / Number(before) : 1);
  const [most] = [...revenue].sort((a, b) => fall(a) - fall(b));
  if (most !== undefined) add('revenue', fromMicros(Number(most.now)), fromMicros(Number(most.before)), most.currency);
  return drops;
}
