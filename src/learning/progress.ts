import type { Executor } from '../platform/db/pool.ts';
import type { HourCount } from './traffic.ts';

/** SQL expression for the advisory lock key of the learner. */
export const learningLock = "hashtext('perkwire_learning')";

/** A point in time, and a transaction ID. All transactions with lower IDs had ended by then. */
type Mark = [atMs: number, xid: string];

/** The learner that currently leads, and the time of its last heartbeat in epoch milliseconds. */
type Lead = { id: string; atMs: number };

/** Learning progress that is stored with each model version. */
export type Progress = {
  /** Transaction ID up to which rows have been learned from (exclusive). */
  xid: string;
  marks: Mark[];
  /** Number of requests in the current hour, keyed by publisher ID. */
  traffic: Readonly<Record<string, HourCount>>;
  /** Counts of `Delays`. Absent if no delays are known. */
  delays?: DelayCounts;
  /** Learner that currently leads, or null if none exists. */
  lead: Lead | null;
};

/** Counts of `Delays` by kind of success. */
export type DelayCounts = { click: readonly number[]; conversion: readonly number[] };

/** Progress before any rows are learned from. */
const noProgress: Progress = { xid: '0', marks: [], traffic: {}, lead: null };

/** Learner progress from earlier releases. It is kept unchanged, so that a rollback remains possible. */
type EarlierProgress = Partial<Pick<Progress, 'marks' | 'traffic' | 'delays'>> & { click?: readonly string[] };

export async function readProgress(executor: Executor): Promise<Progress> {
  const { rows } = await executor.query<{ progress: Progress | null; earlier: EarlierProgress | null }>({
    name: 'ranking_progress',
    text: `select (select progress from ranking_progress) as progress,
      (select progress from learning_progress) as earlier`,
  });
  const { progress = null, earlier = null } = rows[0] ?? {};
  if (progress !== null) return progress;
  const { click = [], marks = [], traffic = {}, delays } = earlier ?? {};
  return { ...noProgress, xid: click[0] ?? '0', marks, traffic, ...(delays === undefined ? {} : { delays }) };
}

/**
 * Returns the progress from which to continue in this database, where all transactions before `end` have ended. If a
 * dump was restored into a new cluster, transaction IDs have restarted. Existing rows then count as read, and marks are
 * dropped because the times of transactions are unknown.
 */
export const continuedIn = (progress: Progress, end: string): Progress =>
  BigInt(progress.xid) <= BigInt(end) ? progress : { ...progress, xid: end, marks: [] };

/** Reads the delay counts, or null if no delays are known. */
export const readDelays = async (executor: Executor): Promise<DelayCounts | null> =>
  (await readProgress(executor)).delays ?? null;

export async function writeProgress(executor: Executor, progress: Progress): Promise<void> {
  await executor.query({
    name: 'write_ranking_progress',
    text: `insert into ranking_progress (progress) values ($1)
      on conflict (only_row) do update set progress = excluded.progress`,
    values: [progress],
  });
}

/**
 * Minimum distance between two marks, in milliseconds. `apartPart` is the minimum distance as a fraction of their age.
 */
const apartMs = 1000;
const apartPart = 1 / 8;

/** Adds a mark, and removes marks that are too close together. */
export function withMark(marks: readonly Mark[], nowMs: number, xid: string, oldestMs: number): Mark[] {
  const retained: Mark[] = [];
  for (const mark of marks) {
    const last = retained.at(-1);
    const ageMs = nowMs - mark[0];
    const isApart = last === undefined || mark[0] - last[0] >= Math.max(apartMs, ageMs * apartPart);
    if (isApart) retained.push(mark);
    // Drop the first mark once the second one is old enough to cover all ages.
    if (retained.length > 1 && nowMs - (retained[1] as Mark)[0] > oldestMs) retained.shift();
  }
  return [...retained, [nowMs, xid]];
}
