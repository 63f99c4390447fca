import type pg from 'pg';
import { expect } from 'vitest';

type Held = {
  /** Resolves when so many statements wait for the table. */
  untilWaitedFor: (count?: number) => Promise<void>;
  /** Lets them go on. */
  release: () => Promise<void>;
};

/** Locks of this database that are waited for. Tables of other clones have the same ids. */
export const waitedForLocksSql = `
select 1 from pg_locks
where database = (select oid from pg_database where datname = current_database()) and not granted`;

/** Keeps everybody from writing to a table. */
export async function holdTable(pool: pg.Pool, table: string): Promise<Held> {
  const client = await pool.connect();
  await client.query(`begin; lock table ${table} in share mode`);
  let held = true;
  return {
    untilWaitedFor: (count = 1) =>
      untilCount(count, async () => {
        const { rowCount } = await client.query(`${waitedForLocksSql} and relation = $1::regclass`, [table]);
        return rowCount;
      }),
    release: async () => {
      if (!held) return;
      held = false;
      await client.query('commit');
      client.release();
    },
  };
}

/** Resolves when so many statements of this database wait for another transaction. */
export const untilWaiting = (pool: pg.Pool, count: number): Promise<void> =>
  untilCount(count, async () => {
    const { rowCount } = await pool.query(
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rowCount;
  });

const untilCount = (count: number, counted: () => Promise<number | null>): Promise<void> =>
  expect.poll(counted).toBe(count);
