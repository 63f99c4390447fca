import type { Executor } from '../platform/db/pool.ts';
import type { HourCount } from './traffic.ts';

/** SQL of the number of the advisory lock of the process that learns. */
export const learningLock = "hashtext('perkwire_learning')";

/** A transaction id before which all had ended at a time. */
type Mark = [atMs: number, xid: string];

/** The learner that leads, and when it last said so (epoch milliseconds). */
type Lead = { id: string; atMs: number };

/** State of learning that is stored with each version. */
export type Progress = {
  /** Rows of transactions before this one were taken in. */
  xid: string;
  marks: Mark[];
  /** Requests of the hour that is running, by publisher id. */
  traffic: Readonly<Record<string, HourCount>>;
  /** Counts of `Delays`; absent: none are known. */
  delays?: DelayCounts;
  /** null: no learner leads. */
  lead: Lead | null;
};

/** Counts of `Delays` by the kind of success. */
export type DelayCounts = { click: readonly number[]; conversion: readonly number[] };

/** Nothing was taken in. */
const noProgress: Progress = { xid: '0', marks: [], traffic: {}, lead: null };

/** Progress of the learner of earlier releases, which is left as it is for a rollback. */
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
 * Progress where all transactions before `end` have ended. In a cluster that a dump was restored into, numbers begin
 * anew: rows that are there count as read, and when transactions were is not known.
 */
export const continuedIn = (progress: Progress, end: string): Progress =>
  BigInt(progress.xid) <= BigInt(end) ? progress : { ...progress, xid: end, marks: [] };

/** Delays of successes; null: not known yet. */
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

/** Marks are this far apart, in the shortest case (milliseconds), and as a part of their age. */
const apartMs = 1000;
const apartPart = 1 / 8;

/** Adds a mark, and drops those that tell little. */
export function withMark(marks: readonly Mark[], nowMs: number, xid: string, oldestMs: number): Mark[] {
  const kept: Mark[] = [];
  for (const mark of marks) {
    const last = kept.at(-1);
    const ageMs = nowMs - mark[0];
    const isApart = last === undefined || mark[0] - last[0] >= Math.max(apartMs, ageMs * apartPart);
    if (isApart) kept.push(mark);
    // The first mark kept is the last that is old enough for every age.
    if (kept.length > 1 && nowMs - (kept[1] as Mark)[0] > oldestMs) kept.shift();
  }
  return [...kept, [nowMs, xid]];
}
