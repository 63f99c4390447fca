import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import {
  addBookingsSql,
  addEventsSql,
  addOutcomesSql,
  addOwnEventsSql,
  addSessionsSql,
  addUpMomentsSql,
  moveUnitsSql,
} from './statements.ts';

/** Transactions of one run (count). */
const maxTransactions = 200_000n;

/**
 * Adds what was committed since the last run to the sums of users, exactly once: sums, and where the run ended, are one
 * transaction under an advisory lock. Any number of processes may try.
 * @returns whether it reached the end; null: another process is at it
 */
export const collectSums = (pool: pg.Pool): Promise<boolean | null> =>
  transaction(pool, async (executor) => {
    await executor.query('set transaction isolation level repeatable read');
    const { rows: locks } = await executor.query<{ locked: boolean }>(
      "select pg_try_advisory_xact_lock(hashtext('perkwire_experiments')) as locked",
    );
    if (locks[0]?.locked !== true) return null;
    const { from, end, any } = await readProgress(executor);
    // Without experiments no session was in one: nothing is read.
    const to = any && BigInt(end) - BigInt(from) > maxTransactions ? String(BigInt(from) + maxTransactions) : end;
    if (to === from) return true;
    if (any) {
      // Found by the index of new rows, never by reading a table from end to end.
      await executor.query('set local enable_seqscan = off; set local jit = off');
      const added = [addSessionsSql, addEventsSql, addBookingsSql, addOutcomesSql, addOwnEventsSql];
      for (const text of [moveUnitsSql, ...added]) await executor.query(text, [from, to]);
      await executor.query(addUpMomentsSql);
    }
    await executor.query('update experiment_progress set until_xid = $1::xid8', [to]);
    return to === end;
  });

/** `end`: all transactions before it have ended. `any`: there are experiments. */
async function readProgress(executor: Executor): Promise<{ from: string; end: string; any: boolean }> {
  const { rows } = await executor.query<{ from: string; end: string; any: boolean }>(
    `select until_xid::text as from, pg_snapshot_xmin(pg_current_snapshot())::text as end,
      exists (select from experiments) as any
    from experiment_progress`,
  );
  return rows[0] as { from: string; end: string; any: boolean };
}
