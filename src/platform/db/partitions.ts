import type pg from 'pg';
import { dayMs, dayOf } from '../lib/time.ts';
import { type Executor, transaction } from './pool.ts';

/** Creates the missing partitions of all partitioned tables, from two days back to a week ahead. */
export async function ensurePartitions(pool: pg.Pool, nowMs: number): Promise<void> {
  const days = [dayOf(nowMs - 2 * dayMs), dayOf(nowMs + 7 * dayMs)];
  await pool.query('select create_day_partitions($1::date, $2::date)', days);
  await pool.query('select create_report_partitions($1::date, $2::date)', days);
}

/**
 * Drops the partitions of these tables that begin before a day. In a transaction of `dropTransaction` only.
 * @returns partitions dropped (count)
 */
export async function dropPartitions(
  executor: Executor,
  parents: readonly string[],
  keepFrom: string,
): Promise<number> {
  const { rows } = await executor.query<{ dropped: number }>(
    'select sum(drop_day_partitions(parent, $2::date))::int as dropped from unnest($1::text[]) as parent',
    [parents, keepFrom],
  );
  return rows[0]?.dropped ?? 0;
}

/** A drop locks its parent table: it gives up after 2 s, so that other statements do not queue up behind it. */
export const dropTransaction = <T>(pool: pg.Pool, work: (executor: Executor) => Promise<T>): Promise<T> =>
  transaction(pool, async (executor) => {
    await executor.query("set local lock_timeout = '2s'");
    return work(executor);
  });
