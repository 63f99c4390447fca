import type pg from 'pg';
import { expect } from 'vitest';
import { timeLimit } from './time-limit.ts';

/**
 * Waits until all transactions that have begun so far have ended, also those in other databases of the server. Until
 * then, the learner leaves out rows that were committed after them.
 */
export async function untilTransactionsEnd(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ next: string }>('select pg_snapshot_xmax(pg_current_snapshot())::text as next');
  const ended = async () =>
    (
      await pool.query('select 1 where pg_snapshot_xmin(pg_current_snapshot())::text::xid8 >= $1::xid8', [
        rows[0]?.next,
      ])
    ).rowCount;
  await expect.poll(ended, { timeout: timeLimit(20_000) }).toBe(1);
}
