import type { Executor } from '../../platform/db/pool.ts';

/** Key for the advisory lock that protects changes to rollups. Lock rows in `rollup_publishers` before acquiring it. */
const lockKey = "hashtext('perkwire_rollups')";

/**
 * Tries to acquire the rollup lock, and holds it until the end of the transaction.
 * @returns false if another transaction holds the lock
 */
export async function tryLockRollups(executor: Executor): Promise<boolean> {
  const { rows } = await executor.query<{ locked: boolean }>(`select pg_try_advisory_xact_lock(${lockKey}) as locked`);
  return rows[0]?.locked ?? false;
}

/**
 * Makes rollups with an older snapshot fail, because they would not see the changes made under the lock. Every rollup
 * updates this row, and PostgreSQL rejects a conflicting update at the isolation level repeatable read.
 */
export async function failOlderRollups(executor: Executor): Promise<void> {
  await executor.query('update rollup_progress set rolled_up_at = rolled_up_at');
}

/** Waits for a running rollup, and blocks further rollups until the end of the transaction. */
export async function blockRollups(executor: Executor): Promise<void> {
  await executor.query(`select pg_advisory_xact_lock(${lockKey})`);
  await failOlderRollups(executor);
}
