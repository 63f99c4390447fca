import type { Executor } from '../../platform/db/pool.ts';

/** Key of the advisory lock for changes of sums. Rows of `rollup_publishers` are locked before it. */
const lockKey = "hashtext('perkwire_rollups')";

/** Takes the lock until the transaction ends. @returns false if another transaction holds it */
export async function tryLockRollups(executor: Executor): Promise<boolean> {
  const { rows } = await executor.query<{ locked: boolean }>(`select pg_try_advisory_xact_lock(${lockKey}) as locked`);
  return rows[0]?.locked ?? false;
}

/**
 * Makes rollups with an older snapshot fail, which would not see the changes under the lock: they also write this row,
 * and repeatable read refuses that.
 */
export async function failOlderRollups(executor: Executor): Promise<void> {
  await executor.query('update rollup_progress set rolled_up_at = rolled_up_at');
}

/** Waits for a running rollup, and blocks others until the transaction ends. */
export async function blockRollups(executor: Executor): Promise<void> {
  await executor.query(`select pg_advisory_xact_lock(${lockKey})`);
  await failOlderRollups(executor);
}
