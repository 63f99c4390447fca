import type pg from 'pg';
import { type Executor, transaction } from '../platform/db/pool.ts';
import {
  addBookingsSql,
  addEventsSql,
  addOutcomesSql,
  addOwnEventsSql,
  addSessionsSql,
  addUpMomentsSql,
  moveUnitsSql,
  setCurrenciesSql,
} from './sums/statements.ts';

/** Maximum number of transaction IDs to process per run. */
const maxTransactions = 200_000n;

/**
 * Adds the rows committed since the last run to the per-user totals, exactly once. Sums and progress are written in one
 * transaction under an advisory lock, so several processes may call this.
 * @returns whether all rows have been added, or null if another process holds the lock
 */
export const collectSums = (pool: pg.Pool): Promise<boolean | null> =>
  transaction(pool, async (executor) => {
    await executor.query('set transaction isolation level repeatable read');
    const { rows: locks } = await executor.query<{ locked: boolean }>(
      "select pg_try_advisory_xact_lock(hashtext('perkwire_experiments')) as locked",
    );
    if (locks[0]?.locked !== true) return null;
    const { from, end, any, restored } = await readProgress(executor);
    // After a database restore, `from` may still be later than `end`, because startup already collected the rows up to
    // its own transaction.
    if (BigInt(end) <= BigInt(from) && !restored) return true;
    // Without experiments there is nothing to add, so advance without reading any rows.
    const to = any && BigInt(end) - BigInt(from) > maxTransactions ? String(BigInt(from) + maxTransactions) : end;
    if (any && !restored) await addRows(executor, from, to);
    await executor.query('update experiment_progress set until_xid = $1::xid8', [to]);
    return to === end;
  });

/**
 * Adds the rows of a restored dump that had not been collected when the dump was made. Called in the transaction that
 * renumbers the rows, before they are renumbered. Later runs ignore these rows.
 */
export async function collectRestored(executor: Executor): Promise<void> {
  const { from, any } = await readProgress(executor);
  if (any) await addRows(executor, from, lastXid);
  await executor.query(
    'update experiment_progress set until_xid = (pg_current_xact_id()::text::bigint + 1)::text::xid8',
  );
}

/** Highest possible transaction ID. */
const lastXid = String(2n ** 64n - 1n);

/** Adds the rows written by transactions whose IDs are between `from` (inclusive) and `to` (exclusive). */
async function addRows(executor: Executor, from: string, to: string): Promise<void> {
  // Make PostgreSQL use the index on new rows instead of scanning the whole table.
  await executor.query('set local enable_seqscan = off; set local jit = off');
  await executor.query(setCurrenciesSql);
  const added = [addSessionsSql, addEventsSql, addBookingsSql, addOutcomesSql, addOwnEventsSql];
  for (const text of [moveUnitsSql, ...added]) await executor.query(text, [from, to]);
  await executor.query(addUpMomentsSql);
}

type Progress = { from: string; end: string; any: boolean; restored: boolean };

/**
 * Reads the progress of the collection:
 * - `end`: all transactions before this ID have ended.
 * - `any`: whether there are any experiments.
 * - `restored`: whether transaction IDs restarted because a dump was restored into a new cluster.
 */
async function readProgress(executor: Executor): Promise<Progress> {
  const { rows } = await executor.query<Progress>(
    `select until_xid::text as from, pg_snapshot_xmin(pg_current_snapshot())::text as end,
      exists (select from experiments) as any, until_xid > pg_snapshot_xmax(pg_current_snapshot()) as restored
    from experiment_progress`,
  );
  return rows[0] as Progress;
}
