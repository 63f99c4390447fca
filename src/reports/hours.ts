import type { Executor } from '../platform/db/pool.ts';
import { hourMs } from '../platform/lib/time.ts';
import { fromMicros } from '../platform/money.ts';
import { dimensionBits } from './rollup/grains.ts';

/** Activity in an hour, or a sum of hours. Revenue is in units of the queried currency. */
export type HourSums = Record<HourField, number>;

type HourField = (typeof hourFields)[number];

const hourFields = ['sessions', 'filled_sessions', 'impressions', 'clicks', 'conversions', 'revenue'] as const;

type HoursQuery = {
  publisherId: number;
  /** Placement to include, or null for all of them. */
  placement: string | null;
  /** Currency of the revenue. If it is null, the revenue is 0. */
  currency: string | null;
  /** Time after which no hour begins, and number of hours before it. */
  endMs: number;
  hours: number;
};

/** Whether the rollups contain everything up to a few minutes ago. */
export async function areRollupsCurrent(executor: Executor, nowMs: number): Promise<boolean> {
  const { rows } = await executor.query<{ is_behind: boolean }>(
    `select rolled_up_at < $1::timestamptz - interval '10 minutes' as is_behind from rollup_progress`,
    [new Date(nowMs)],
  );
  return rows[0]?.is_behind === false;
}

/**
 * Returns the time up to which hours are certain to be complete. In some time zones, hours begin at half past in UTC,
 * so an hour is certain to be complete only an hour after its start.
 */
export const lastCompleteHour = (nowMs: number): number => nowMs - hourMs;

/** Reads the activity of a publisher by the hour, oldest first. Hours without activity contain only zeros. */
export async function readHours(executor: Executor, query: HoursQuery): Promise<HourSums[]> {
  const { publisherId, placement, currency, endMs, hours } = query;
  const sums = Array.from({ length: hours }, (): HourSums => noSums());
  const grain = placement === null ? 0 : dimensionBits.placement;
  const values = [publisherId, new Date(endMs - hours * hourMs), new Date(endMs), placement];
  const condition = `publisher_id = $1 and grain = ${grain} and bucket > $2 and bucket <= $3
    and ($4::text is null or placement = $4)`;
  const counts = await executor.query<Record<HourField, string> & { start_s: number }>(
    `select date_part('epoch', bucket)::float8 as start_s, sessions, filled_sessions, impressions, clicks, conversions
    from rollups where ${condition}`,
    values,
  );
  const sumsAt = ({ start_s: startS }: { start_s: number }): HourSums | undefined =>
    sums[hours - 1 - Math.floor((endMs - startS * 1000) / hourMs)];
  for (const row of counts.rows) {
    const hour = sumsAt(row);
    if (hour === undefined) continue;
    for (const name of hourFields) if (name !== 'revenue') hour[name] += Number(row[name]);
  }
  if (currency === null) return sums;
  const money = await executor.query<{ start_s: number; micros: string }>(
    `select date_part('epoch', bucket)::float8 as start_s, revenue_micros as micros
    from rollup_money where ${condition} and currency = $5`,
    [...values, currency],
  );
  for (const row of money.rows) {
    const hour = sumsAt(row);
    if (hour !== undefined) hour.revenue += fromMicros(Number(row.micros));
  }
  return sums;
}

const noSums = (): HourSums => ({
  sessions: 0,
  filled_sessions: 0,
  impressions: 0,
  clicks: 0,
  conversions: 0,
  revenue: 0,
});

/** Adds up hours, from the hour at `from` to the one before `to`. */
export function addHours(hours: readonly HourSums[], from: number, to: number): HourSums {
  const sum = noSums();
  for (const hour of hours.slice(Math.max(from, 0), Math.max(to, 0)))
    for (const name of hourFields) sum[name] += hour[name];
  return sum;
}
