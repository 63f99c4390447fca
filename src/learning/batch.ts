import type { Executor } from '../platform/db/pool.ts';
import type { Delays } from './delays.ts';
import {
  endOfRange,
  lowest,
  type Observation,
  type RequestCount,
  readEvents,
  readRequests,
  readSuccesses,
} from './observations.ts';
import { markedBefore, type Progress, withMark } from './progress.ts';

export const trialOf = { click: 'impression', conversion: 'click' } as const;

/** Rows of one kind and age: trials, and the successes that were committed with the newest ones. */
type AgedRows = {
  kind: 'click' | 'conversion';
  age: number;
  trials: readonly Observation[];
  successes: readonly Observation[];
};

/** What one run learns from, read in one short transaction. Nothing of it depends on the model's rates. */
export type Batch = {
  aged: readonly AgedRows[];
  requests: readonly RequestCount[];
  /** Progress after this batch, as far as it does not depend on the rows. */
  next: Pick<Progress, 'click' | 'conversion' | 'marks'>;
  /** Whether there are no further rows. */
  isComplete: boolean;
};

/** Size of a batch: rows of one kind and age (count), and transactions (counts) that hold at most that many. */
export type BatchLimits = { rows: number; leastTransactions: number; mostTransactions: number };

/** Limits of a run, and the bounds between which they adapt (counts). */
const limits = { rows: 5000, leastRows: 100, transactions: 20_000, leastTransactions: 100, most: 100_000_000 };

export const firstLimits: BatchLimits = {
  rows: limits.rows,
  leastTransactions: limits.transactions,
  mostTransactions: limits.transactions,
};

/** Limits after a failure: a slow database gets a quarter of the work. */
export const smaller = ({ rows, leastTransactions }: BatchLimits): BatchLimits => {
  const transactions = Math.max(limits.leastTransactions, Math.floor(leastTransactions / 4));
  return {
    rows: Math.max(limits.leastRows, Math.floor(rows / 4)),
    leastTransactions: transactions,
    mostTransactions: transactions,
  };
};

/** Limits after a success. @param isSparse whether the transactions of the batch held few rows */
export function afterSuccess(before: BatchLimits, isSparse: boolean): BatchLimits {
  const leastTransactions = Math.min(limits.transactions, before.leastTransactions * 2);
  return {
    rows: Math.min(limits.rows, before.rows * 2),
    leastTransactions,
    mostTransactions: isSparse ? Math.min(limits.most, before.mostTransactions * 2) : leastTransactions,
  };
}

type ReadOptions = {
  progress: Progress;
  /** All transactions before this one have ended. */
  end: string;
  delays: Record<'click' | 'conversion', Pick<Delays, 'agesMs'>>;
  nowMs: number;
  limits: BatchLimits;
};

/** Reads the rows that follow what was learned from, and those that came of age. */
export async function readBatch(
  executor: Executor,
  { progress, end, delays, nowMs, limits: { rows, leastTransactions, mostTransactions } }: ReadOptions,
): Promise<Batch> {
  const bounded = (from: string, to: string): Promise<string> =>
    endOfRange(executor, { from, to }, { rows, least: leastTransactions, most: mostTransactions });
  const from = progress.click[0] ?? '0';
  const to = await bounded(from, end);
  let isComplete = to === end;
  const oldestMs = Math.max(...delays.conversion.agesMs);
  const marks = to === end ? withMark(progress.marks, nowMs, end, oldestMs) : progress.marks;
  const next: Batch['next'] = { click: [], conversion: [], marks };
  const aged: AgedRows[] = [];
  for (const kind of ['click', 'conversion'] as const)
    for (const [age, ageMs] of delays[kind].agesMs.entries()) {
      const start = progress[kind][age] ?? '0';
      const due = age === 0 ? to : lowest(markedBefore(marks, nowMs - ageMs) ?? start, to);
      const range = { from: start, to: BigInt(due) > BigInt(start) ? await bounded(start, due) : start };
      next[kind].push(range.to);
      isComplete &&= BigInt(range.to) >= BigInt(due);
      if (range.to === range.from) continue;
      const trials = await readEvents(executor, trialOf[kind], range);
      const successes = age > 0 ? [] : await readSuccesses[kind](executor, range);
      aged.push({ kind, age, trials, successes });
    }
  return { aged, requests: await readRequests(executor, { from, to }), next, isComplete };
}
