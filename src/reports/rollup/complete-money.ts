import type pg from 'pg';
import { transaction } from '../../platform/db/pool.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { blockRollups } from './lock.ts';

/** Days that are compared (count): an earlier release may have run for some time. */
const comparedDays = 40;

/** The first month in which sums of money by currency do not add up to what was counted. */
const incompleteSql = `
select min(month) as since from publishers p cross join lateral (
  select month, sum(revenue) as revenue, sum(unbilled) as unbilled from (
    select date_trunc('month', bucket, 'UTC') as month, revenue_micros as revenue, unbilled_micros as unbilled
    from rollups where publisher_id = p.id and grain = 0 and bucket >= $1
    union all
    select date_trunc('month', bucket, 'UTC'), -revenue_micros, -unbilled_micros
    from rollup_money where publisher_id = p.id and grain = 0 and bucket >= $1
  ) as sums group by month
) as months where revenue <> 0 or unbilled <> 0`;

/**
 * Gives money its currency that processes of the previous release counted without one: while processes are replaced one
 * by one, or after a way back.
 */
export async function completeMoney(pool: pg.Pool, nowMs: number): Promise<void> {
  const from = new Date(nowMs - comparedDays * dayMs);
  const { rows } = await pool.query<{ since: Date | null }>(incompleteSql, [from]);
  const since = rows[0]?.since ?? null;
  if (since === null) return;
  await transaction(pool, async (executor) => {
    await blockRollups(executor);
    await executor.query("select complete_rollup_money($1, 'infinity')", [since]);
  });
}
