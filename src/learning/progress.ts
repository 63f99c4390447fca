import type { Executor } from '../platform/db/pool.ts';
import type { HourCount } from './traffic.ts';

/** SQL of the number of the learning process's advisory lock. */
export const learningLock = "hashtext('perkwire_learning')";

/** A transaction id before which all transactions had ended at a time. */
type Mark = [atMs: number, xid: string];

/** The leading learner, and its last heartbeat (epoch milliseconds). */
type Lead = { id: string; atMs: number };

/** State of learning that is stored with each version. */
export type Progress = {
  /** Rows of transactions before this one were learned. */
  xid: string;
  marks: Mark[];
  /** Requests of the current hour, by publisher id. */
  traffic: Readonly<Record<string, HourCount>>;
  /** Counts of `Delays`; absent if none are known. */
  delays?: DelayCounts;
  /** Leading learner, or null. */
  lead: Lead | null;
};

/** Counts of `Delays` by the kind of success. */
export type DelayCounts = { click: readonly number[]; conversion: readonly number[] };

/** Progress before the first row. */
const noProgress: Progress = { xid: '0', marks: [], traffic: {}, lead: null };

/** Progress of the learner of earlier releases, which is left unchanged for a rollback. */
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
 * Progress in a database whose transactions before `end` have ended. In a cluster into which a dump was restored,
 * transaction numbers restart: existing rows count as read, and the times of transactions are unknown.
 */
export const continuedIn = (progress: Progress, end: string): Progress =>
  BigInt(progress.xid) <= BigInt(end) ? progress : { ...progress, xid: end, marks: [] };

/** Delays of successes; null if unknown. */
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

/** Minimum distance of marks (milliseconds), and their distance as a part of their age. */
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
    // The first remaining mark is the last one that is old enough for every age.
    if (retained.length > 1 && nowMs - (retained[1] as Mark)[0] > oldestMs) retained.shift();
  }
  return [...retained, [nowMs, xid]];
}
