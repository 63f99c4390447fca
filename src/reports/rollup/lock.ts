import type { Executor } from '../../platform/db/pool.ts';

/**
 * Key of the advisory lock that protects changes of rollups. Lock the rows of `rollup_publishers` before acquiring it.
 */
const lockKey = "hashtext('perkwire_rollups')";

/**
 * Tries to acquire the rollup lock until the end of the transaction.
 * @returns false if another transaction holds the lock
 */
export async function tryLockRollups(executor: Executor): Promise<boolean> {
  const { rows } = await executor.query<{ locked: boolean }>(`select pg_try_advisory_xact_lock(${lockKey}) as locked`);
  return rows[0]?.locked ?? false;
}

/**
 * Makes rollups with an older snapshot fail, because they would not see the changes made under the lock. Such a rollup
 * also updates this row, which repeatable read rejects.
 */
export async function failOlderRollups(executor: Executor): Promise<void> {
  await executor.query('update rollup_progress set rolled_up_at = rolled_up_at');
}

/** Waits for a running rollup, and blocks further rollups until the end of the transaction. */
export async function blockRollups(executor: Executor): Promise<void> {
  await executor.query(`select pg_advisory_xact_lock(${lockKey})`);
  await failOlderRollups(executor);
}
