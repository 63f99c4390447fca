import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { type Problem, problem } from '../../platform/problem.ts';

export type ReadOptions = {
  /** Whether the report reads rollups rather than raw rows. */
  fromRollups: boolean;
  /** Abort signal that fires when the client disconnects. */
  signal: AbortSignal | undefined;
};

/** Statement timeout in milliseconds. A report that exceeds it counts as too large. */
const statementTimeoutMs = 8000;
const queryCanceled = '57014';

/**
 * Returns SQL settings for reading. Rollups are read with bitmap scans over long ranges, for which the database
 * prefetches pages. This halves the time that an uncached report takes, and has no other cost.
 */
const settingsSql = ({ fromRollups }: ReadOptions): string => `
set transaction isolation level repeatable read, read only;
set local statement_timeout = ${statementTimeoutMs}; set local jit = off; set local work_mem = '32MB';
set local max_parallel_workers_per_gather = 0; set local enable_indexscan = ${fromRollups ? 'off' : 'on'}`;

/**
 * Runs all reads of a report on a single snapshot, within the statement timeout and only while the client is connected.
 * @throws AppError report_too_large, unavailable
 */
export const readConsistently = <T>(
  pool: pg.Pool,
  options: ReadOptions,
  work: (executor: Executor) => Promise<T>,
): Promise<T> =>
  transaction(pool, async (executor) => {
    await executor.query(settingsSql(options));
    return cancelOnAbort(pool, executor, options.signal, () => work(executor));
  }).catch((err: unknown) => {
    if (options.signal?.aborted) throw new AppError('unavailable');
    if ((err as { code?: unknown }).code === queryCanceled) throw tooLarge(problem('reportSlow'));
    throw err;
  });

/**
 * Cancels the running statement when the signal aborts. The connection is released only after the cancellation, so that
 * no other statement is cancelled.
 */
async function cancelOnAbort<T>(
  pool: pg.Pool,
  executor: Executor,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (signal === undefined) return work();
  const { rows } = await executor.query<{ pid: number }>('select pg_backend_pid() as pid');
  let cancelling: Promise<unknown> | undefined;
  const cancel = (): void => {
    cancelling = pool.query('select pg_cancel_backend($1)', [rows[0]?.pid]).catch(() => {});
  };
  signal.throwIfAborted();
  signal.addEventListener('abort', cancel);
  try {
    return await work();
  } finally {
    signal.removeEventListener('abort', cancel);
    await cancelling;
  }
}

export const tooLarge = (message: Problem): AppError => new AppError('report_too_large', { message });
