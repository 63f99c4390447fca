import type pg from 'pg';
import { dayMs, dayOf } from './session-id.ts';

/** Creates the partitions from two days back to a week ahead. */
export async function ensurePartitions(pool: pg.Pool, nowMs: number): Promise<void> {
  await pool.query('select create_day_partitions($1::date, $2::date)', [dayOf(nowMs - 2 * dayMs), dayOf(nowMs + 7 * dayMs)]);
}
