import type pg from 'pg';
import { expect } from 'vitest';

type Held = {
  /** Resolves when this many statements are waiting for the table. */
  untilWaitedFor: (count?: number) => Promise<void>;
  /** Releases the lock, so that they continue. */
  release: () => Promise<void>;
};

/**
 * Selects the locks in this database that statements wait for. The database is compared, because tables in other clones
 * have the same IDs.
 */
export const waitedForLocksSql = `
select 1 from pg_locks
where database = (select oid from pg_database where datname = current_database()) and not granted`;

/** Blocks all writes to a table. */
export async function holdTable(pool: pg.Pool, table: string): Promise<Held> {
  const client = await pool.connect();
  await client.query(`begin; lock table ${table} in share mode`);
  let isHeld = true;
  return {
    untilWaitedFor: (count = 1) =>
      untilCount(count, async () => {
        const { rowCount } = await client.query(`${waitedForLocksSql} and relation = $1::regclass`, [table]);
        return rowCount;
      }),
    release: async () => {
      if (!isHeld) return;
      isHeld = false;
      await client.query('commit');
      client.release();
    },
  };
}

/** Resolves when this many statements in this database are waiting for another transaction. */
export const untilWaiting = (pool: pg.Pool, count: number): Promise<void> =>
  untilCount(count, async () => {
    const { rowCount } = await pool.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rowCount;
  });

const untilCount = (count: number, counted: () => Promise<number | null>): Promise<void> =>
  expect.poll(counted).toBe(count);
