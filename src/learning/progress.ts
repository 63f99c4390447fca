import type { Executor, Transaction } from '../platform/db/pool.ts';
import type { HourCount } from './traffic.ts';

/** SQL of the number of the advisory lock of the process that learns. */
export const learningLock = "hashtext('perkwire_learning')";

/** A transaction id before which all had ended at a time. */
type Mark = [atMs: number, xid: string];

/** Up to which transactions rows were taken in, at each age of `Delays`, and when transactions were. */
export type Progress = {
  click: string[];
  conversion: string[];
  marks: Mark[];
  trials: number;
  /** Requests of the hour that is running, by publisher id. */
  traffic: Readonly<Record<string, HourCount>>;
  /** Counts of `Delays`; absent: none are known. */
  delays?: KnownDelays;
};

/** By the kind of success. */
export type KnownDelays = { click: readonly number[]; conversion: readonly number[] };

/** Nothing was taken in. */
export const noProgress: Progress = { click: [], conversion: [], marks: [], trials: 0, traffic: {} };

export async function readProgress(executor: Executor): Promise<Progress> {
  const { rows } = await executor.query<{ progress: Partial<Progress> }>({
    name: 'learning_progress',
    text: 'select progress from learning_progress',
  });
  return { ...noProgress, ...rows[0]?.progress };
}

/**
 * Progress where all transactions before `end` have ended. In a cluster that a dump was restored into, numbers begin
 * anew: what is there counts as read, and when transactions were is not known.
 */
export const continuedIn = (progress: Progress, end: string): Progress =>
  BigInt(progress.click[0] ?? '0') <= BigInt(end)
    ? progress
    : { ...progress, click: progress.click.map(() => end), conversion: progress.conversion.map(() => end), marks: [] };

/** How long successes take; null: not known yet. */
export const readDelays = async (executor: Executor): Promise<KnownDelays | null> =>
  (await readProgress(executor)).delays ?? null;

export async function writeProgress(executor: Executor, progress: Progress): Promise<void> {
  await executor.query({
    name: 'write_learning_progress',
    text: 'update learning_progress set progress = $1',
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

/**
 * Has learning take all that a transaction writes for as old as a time: no success of its trials is waited for. To be
 * called at its end, as no process learns from there on. In a cluster where nothing was learned from before.
 */
export async function markAsOld(executor: Transaction, atMs: number): Promise<void> {
  await executor.query(`select pg_advisory_xact_lock(${learningLock})`);
  await executor.query(
    `update learning_progress set progress = jsonb_set(
      progress::jsonb, '{marks}',
      jsonb_build_array(jsonb_build_array($1::float8, (pg_current_xact_id()::text::bigint + 1)::text))
        || coalesce(progress::jsonb -> 'marks', '[]')
    )`,
    [atMs],
  );
}

/** The transactions before which all rows are older than an age; null: that is not known. */
export const markedBefore = (marks: readonly Mark[], atMs: number): string | null =>
  marks.findLast(([markMs]) => markMs <= atMs)?.[1] ?? null;
