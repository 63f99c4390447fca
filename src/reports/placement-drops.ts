import type { Executor } from '../platform/db/pool.ts';
import { dayMs, hourMs } from '../platform/lib/time.ts';
import { dimensionBits } from './rollup/grains.ts';

/** A placement whose metric is at most half of what it was in the same hours of last week. Revenue in the currency. */
export type PlacementDrop = {
  publisherId: number;
  placement: string;
  metric: 'fill_rate' | 'revenue';
  now: number;
  before: number;
};

/** Fewer say nothing (count): sessions of last week and of now for a fill rate, clicks and conversions for revenue. */
const [minSessionsBefore, minSessions, minPaidBefore] = [100, 20, 20];

type Row = {
  publisher_id: number;
  placement: string;
  sessions: string;
  filled: string;
  revenue: string;
  sessions_before: string;
  filled_before: string;
  paid_before: string;
  revenue_before: string;
};

const sum = (column: string, isBefore: boolean): string =>
  `coalesce(sum_exact(${column}) filter (where bucket ${isBefore ? '<' : '>='} $2), 0)`;

/**
 * Compares the last whole hours with those of last week.
 * @returns null: the rollups are behind, so that nothing can be said
 */
export async function findPlacementDrops(
  executor: Executor,
  { publisherIds, nowMs, hours }: { publisherIds: readonly number[]; nowMs: number; hours: number },
): Promise<PlacementDrop[] | null> {
  // Hours of some time zones begin at half past: a bucket is whole an hour after its start.
  const end = new Date(nowMs - hourMs);
  const [start, weekMs] = [new Date(end.getTime() - hours * hourMs), 7 * dayMs];
  const ago = (at: Date): Date => new Date(at.getTime() - weekMs);
  const progress = await executor.query<{ is_behind: boolean }>(
    `select rolled_up_at < $1::timestamptz - interval '10 minutes' as is_behind from rollup_progress`,
    [new Date(nowMs)],
  );
  if (progress.rows[0]?.is_behind !== false) return null;
  const { rows } = await executor.query<Row>(
    `select publisher_id, placement,
      ${sum('sessions', false)} as sessions, ${sum('sessions', true)} as sessions_before,
      ${sum('filled_sessions', false)} as filled, ${sum('filled_sessions', true)} as filled_before,
      ${sum('revenue_micros', false)} as revenue, ${sum('revenue_micros', true)} as revenue_before,
      ${sum('clicks + conversions', true)} as paid_before
    from rollups
    where publisher_id = any($1::integer[]) and grain = ${dimensionBits.placement}
      and (bucket > $2 and bucket <= $3 or bucket > $4 and bucket <= $5)
    group by publisher_id, placement`,
    [publisherIds, start, end, ago(start), ago(end)],
  );
  return rows.flatMap(dropsOf);
}

function dropsOf(row: Row): PlacementDrop[] {
  const { publisher_id: publisherId, placement } = row;
  const of = (name: keyof Row): number => Number(row[name]);
  const drops: PlacementDrop[] = [];
  const add = (metric: PlacementDrop['metric'], now: number, before: number): void => {
    if (before > 0 && now <= before / 2) drops.push({ publisherId, placement, metric, now, before });
  };
  if (of('sessions_before') >= minSessionsBefore && of('sessions') >= minSessions)
    add('fill_rate', of('filled') / of('sessions'), of('filled_before') / of('sessions_before'));
  if (of('paid_before') >= minPaidBefore) add('revenue', of('revenue') / 1e6, of('revenue_before') / 1e6);
  return drops;
}
