import type { Executor } from '../../platform/db/pool.ts';
import type { Progress } from '../progress.ts';
import {
  endOfRange,
  hasMoreEvents,
  type Observation,
  type Range,
  type RequestCount,
  readConversions,
  readEvents,
  readRequests,
} from '../reading/observations.ts';

/** Events and requests to learn from in one run. They are read in a single short transaction. */
export type Batch = {
  observations: readonly Observation[];
  requests: readonly RequestCount[];
  /** Transaction ID at which the range that was read ends (exclusive). */
  to: string;
  /** Whether the batch contains all available rows. */
  isComplete: boolean;
};

/**
 * Limits for a batch. It has at most `rows` rows and spans at most `mostTransactions` transactions. If these contain
 * more rows, it spans fewer transactions, but at least `leastTransactions`.
 */
export type BatchLimits = { rows: number; leastTransactions: number; mostTransactions: number };

/**
 * Initial limits for a batch, and the bounds within which the limits adapt. All are numbers of rows or transactions.
 */
const limits = { rows: 5000, leastRows: 100, transactions: 20_000, leastTransactions: 100, most: 100_000_000 };

export const firstLimits: BatchLimits = {
  rows: limits.rows,
  leastTransactions: limits.transactions,
  mostTransactions: limits.transactions,
};

/** Returns the limits after a failure: a quarter of the work, in case the database is slow. */
export const smaller = ({ rows, leastTransactions }: BatchLimits): BatchLimits => {
  const transactions = Math.max(limits.leastTransactions, Math.floor(leastTransactions / 4));
  return {
    rows: Math.max(limits.leastRows, Math.floor(rows / 4)),
    leastTransactions: transactions,
    mostTransactions: transactions,
  };
};

/**
 * Returns the limits after a success.
 * @param isSparse whether the transactions of the batch contained few rows
 */
export function afterSuccess(before: BatchLimits, isSparse: boolean): BatchLimits {
  const leastTransactions = Math.min(limits.transactions, before.leastTransactions * 2);
  return {
    rows: Math.min(limits.rows, before.rows * 2),
    leastTransactions,
    mostTransactions: isSparse ? Math.min(limits.most, before.mostTransactions * 2) : leastTransactions,
  };
}

/** Reads the rows of a range, or only the first part of the range if it has many rows. */
export async function readBatch(
  executor: Executor,
  { from, to: end }: Range,
  { rows, leastTransactions, mostTransactions }: BatchLimits,
): Promise<Batch> {
  const part = { rows, least: leastTransactions, most: mostTransactions };
  const to = await endOfRange(executor, { from, to: end }, part);
  const range = { from, to };
  const observations =
    from === to
      ? []
      : [
          ...(await readEvents(executor, 'impression', range)),
          ...(await readEvents(executor, 'click', range)),
          ...(await readConversions(executor, range)),
        ];
  return { observations, requests: await readRequests(executor, range), to, isComplete: to === end };
}

/** Maximum number of rows that a learner rereads when it starts. */
const maxReread = 60_000;

/**
 * Returns the ID of the transaction from which a starting learner rereads rows, so that it rereads at most `maxReread`
 * rows.
 */
export async function rereadFrom(executor: Executor, { xid, marks }: Progress): Promise<string> {
  for (const from of ['0', ...marks.map(([, mark]) => mark)])
    if (BigInt(from) < BigInt(xid) && !(await hasMoreEvents(executor, { from, to: xid }, maxReread))) return from;
  return xid;
}
