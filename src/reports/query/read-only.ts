import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';

export type Reading = {
  /** Whether sums are read, in contrast to raw rows. */
  isOfSums: boolean;
  /** Says that nobody waits for the answer any more. */
  signal: AbortSignal | undefined;
};

/** A report that takes longer is too large (milliseconds). */
const limitMs = 8000;
const queryCanceled = '57014';

/**
 * Of sums whole stretches are read: by bitmaps of pages, which the database fetches ahead where they are not in memory;
 * that halves the
 * time of a cold report and costs nothing else.
 */
const settings = ({ isOfSums }: Reading): string => `
set transaction isolation level repeatable read, read only; set local statement_timeout = ${limitMs}; set local jit = off;
set local work_mem = '32MB'; set local max_parallel_workers_per_gather = 0; set local enable_indexscan = ${isOfSums ? 'off' : 'on'}`;

/**
 * Runs the reads of one report on one snapshot, within the time a report may take, and no longer than somebody waits
 * for it.
 * @throws AppError report_too_large, unavailable
 */
export const readConsistently = <T>(
  pool: pg.Pool,
  reading: Reading,
  work: (executor: Executor) => Promise<T>,
): Promise<T> =>
  transaction(pool, async (executor) => {
    await executor.query(settings(reading));
    return unlessGone(pool, executor, reading.signal, () => work(executor));
  }).catch((err: unknown) => {
    if (reading.signal?.aborted) throw new AppError('unavailable', { message: 'The client has gone.' });
    if ((err as { code?: unknown }).code === queryCanceled)
      throw tooLarge('The report takes too long. Ask for fewer days or dimensions.');
    throw err;
  });

/**
 * What runs on the connection is cancelled when the signal comes. The connection is kept until that is done, so that
 * nothing else is hit.
 */
async function unlessGone<T>(
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

export const tooLarge = (message: string): AppError => new AppError('report_too_large', { message });
