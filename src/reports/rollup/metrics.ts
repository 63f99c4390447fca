import type pg from 'pg';
import type { Registry } from 'prom-client';
import { transaction } from '../../platform/db/pool.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { registerGauge } from '../../platform/metrics/gauges.ts';

const maxAgeMs = 15_000;

/** A row that no rollup has seen. Rows lie in the order they were written, so the first found is about the oldest. */
const firstNew = (table: string, time: string): string =>
  `(select ${time} as at from ${table} where day >= $1::date
    and xid8send(written_by) >= (select xid8send(until_xid) from rollup_progress) limit 1)`;

const lagSql = `
select min(at) as oldest from (
  ${firstNew('sessions', 'created_at')} union all ${firstNew('events', 'at')} union all ${firstNew('bookings', 'at')}
) as waiting`;

/**
 * How far the rollups are behind (milliseconds): the age of the oldest row of the last two days' sessions that they do
 * not count yet; 0: there is none. New rows are found by their index, never by reading a table from end to end.
 */
export const rollupLagMs = (pool: pg.Pool, nowMs: number): Promise<number> =>
  transaction(pool, async (executor) => {
    await executor.query('set local enable_seqscan = off');
    const { rows } = await executor.query<{ oldest: Date | null }>(lagSql, [dayOf(nowMs - dayMs)]);
    const oldestMs = rows[0]?.oldest?.getTime() ?? nowMs;
    return Math.max(0, nowMs - oldestMs);
  });

export function registerRollupMetrics(registry: Registry, pool: pg.Pool, now: () => number): void {
  registerGauge(registry, {
    name: 'perkwire_rollup_lag_seconds',
    help: 'Age of the oldest event that reports do not count yet; 0: they count all.',
    read: async () => [{ value: (await rollupLagMs(pool, now())) / 1000 }],
    maxAgeMs,
    now,
  });
}
