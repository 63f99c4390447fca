import type pg from 'pg';
import { dayMs, dayOf } from '../lib/time.ts';
import { type Executor, transaction } from './pool.ts';

/** Creates the missing partitions of all partitioned tables, from two days ago to one week ahead. */
export async function ensurePartitions(pool: pg.Pool, nowMs: number): Promise<void> {
  const days = [dayOf(nowMs - 2 * dayMs), dayOf(nowMs + 7 * dayMs)];
  await pool.query('select create_day_partitions($1::date, $2::date)', days);
  await pool.query('select create_report_partitions($1::date, $2::date)', days);
}

/**
 * Drops all partitions of the given tables that begin before a given day. Each table has its own transaction, because a
 * drop locks the table, and holding locks on two tables could cause a deadlock with transactions that use both. A drop
 * waits at most 2 s for its lock, so that other statements do not queue behind it.
 * @param andThen additional work in the same transactions
 * @returns the number of dropped partitions
 */
export async function dropPartitions(
  pool: pg.Pool,
  parents: readonly string[],
  keepFrom: string,
  andThen: (executor: Executor) => Promise<unknown> = async () => {},
): Promise<number> {
  let dropped = 0;
  for (const parent of parents)
    dropped += await transaction(pool, async (executor) => {
      await executor.query("set local lock_timeout = '2s'");
      const { rows } = await executor.query<{ count: number }>('select drop_day_partitions($1, $2::date) as count', [
        parent,
        keepFrom,
      ]);
      await andThen(executor);
      return rows[0]?.count ?? 0;
    });
  return dropped;
}

/** Maximum sample size, in 8 kB table pages. It contains about 10,000 sessions, regardless of the table size. */
const samplePages = 600;

/**
 * Returns the fraction of a table to sample, from 0 to 1, considering only partitions since a given time. For
 * `tablesample system`, multiply it by 100.
 */
export async function sampleShare(executor: Executor, parent: string, sinceMs: number): Promise<number> {
  const { rows } = await executor.query<{ pages: number }>(
    `select coalesce(sum(pg_relation_size(relid) / 8192), 0)::float8 as pages
    from pg_partition_tree($1::text::regclass)
    where isleaf and right(relid::regclass::text, 9) >= 'p' || to_char($2::date, 'YYYYMMDD')`,
    [parent, dayOf(sinceMs)],
  );
  return Math.min(1, samplePages / Math.max(1, rows[0]?.pages ?? 0));
}
