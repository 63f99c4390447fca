import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { afterSuccess, type Batch, firstLimits, readBatch, rereadFrom, smaller } from '../fit/batch.ts';
import type { FitResult } from '../fit/fit-session.ts';
import { type FitThread, startFitThread } from '../fit/start-fit-thread.ts';
import { packModel } from '../model/codec.ts';
import { continuedIn, type Progress, readProgress, withMark } from '../progress.ts';
import { firstAfter, loadVersion, newestVersion } from '../versions.ts';
import { acquireLead, databaseNow, endLead, isLeading, storeNext } from './lead.ts';
import type { Observation } from './observations.ts';
import { createEventReader, type LearningCatalog } from './read-events.ts';

type LearnerDeps = { pool: pg.Pool; catalog: LearningCatalog; now: () => number };

/** Result of a run: the number of rows, and whether these were all available rows. Null if another process leads. */
type Learned = { rows: number; complete: boolean } | null;

export type Learner = { learn: () => Promise<Learned>; stop: () => Promise<void> };

/** Number of rows below which a batch counts as sparse. */
const fewRows = 5000;

/**
 * Minimum pause after a fit, as a multiple of the time that the fit took. `maxPauseMs` is the maximum pause, in
 * milliseconds.
 */
const [pausePerFit, maxPauseMs] = [10, 10_000];

/** Number of rows to process before yielding to the event loop: about a millisecond of work. */
const sliceSize = 50;

/** State of this process while it leads, as of the last stored version. */
type Leading = {
  thread: FitThread;
  version: number;
  /** Whether the next version must be stored as a complete model. */
  isFirst: boolean;
  /** Number of rows added since the last fit. */
  unfitted: number;
  nextFitMs: number;
};

/**
 * Creates the learner, which learns from committed rows. Only one process leads at a time; another takes over when the
 * leader's heartbeat stops. The leader reads rows in short transactions and passes them to a thread, which keeps the
 * latest rows and fits the model to them. Each version is stored together with the progress, in a separate transaction.
 * After a failure, the learner discards its state, rereads the latest rows, and uses smaller batches.
 */
export function createLearner({ pool, catalog, now }: LearnerDeps): Learner {
  const id = randomUUID();
  let leading: Leading | null = null;
  let limits = firstLimits;

  async function drop(): Promise<void> {
    const before = leading;
    leading = null;
    await before?.thread.end();
  }

  async function learn(): Promise<Learned> {
    // 1. Take the lead, or stop here if another process has it.
    if (leading !== null && !(await isLeading(pool, id, leading.version))) await drop();
    if (leading === null) {
      if (!(await acquireLead(pool, id))) return null;
      leading = await begin(pool, catalog, limits);
    }
    const own = leading;
    // 2. Read the next rows.
    const readAtMs = now();
    const input = await transaction(pool, async (executor) => {
      await executor.query('set transaction isolation level repeatable read');
      const stored = await readProgress(executor);
      const end = await oldestOpen(executor);
      const progress = continuedIn(stored, end);
      const databaseMs = await databaseNow(executor);
      return {
        stored,
        progress,
        end,
        databaseMs,
        batch: await readBatch(executor, { from: progress.xid, to: end }, limits),
      };
    });
    const { batch, progress } = input;
    await sendObservations(own.thread, catalog, batch.observations);
    const rows = batch.observations.length;
    own.unfitted += rows + batch.requests.length;
    // 3. Fit the model in the thread.
    const fit = await fitNext(own, progress, batch, readAtMs);
    // 4. Store the new versions and the progress.
    const versions = fit?.versions ?? [];
    const next = nextProgress(input, fit, { id, nowMs: now() });
    const isNoted = next.xid !== input.stored.xid || versions.length > 0 || isOld(input.stored, input.databaseMs);
    if (isNoted && !(await storeNext(pool, { versions, next, before: input.stored, nowMs: now() }))) {
      await drop();
      return null;
    }
    if (versions.length > 0) own.isFirst = false;
    own.version = versions.at(-1)?.version ?? own.version;
    limits = afterSuccess(limits, !batch.isComplete && rows < fewRows);
    return { rows, complete: batch.isComplete };
  }

  return {
    learn: async () => {
      try {
        return await learn();
      } catch (err) {
        limits = smaller(limits);
        await drop();
        throw err;
      }
    },
    stop: async () => {
      if (leading === null) return;
      await drop();
      await endLead(pool, id);
    },
  };
}

/** Starts a thread with the latest version, and passes it the latest rows that had already been learned from. */
async function begin(pool: pg.Pool, catalog: LearningCatalog, limits: typeof firstLimits): Promise<Leading> {
  const version = await newestVersion(pool);
  // If a version is missing or corrupt, learn from scratch.
  const model = await loadVersion(pool, version).catch(() => null);
  const progress = await readProgress(pool);
  const body = model === null || version === 0 ? null : await packModel(model);
  const thread = await startFitThread({ body, delays: progress.delays ?? null });
  try {
    const end = await oldestOpen(pool);
    const to = continuedIn(progress, end).xid;
    let from = await rereadFrom(pool, { ...progress, xid: to });
    while (from !== to) {
      const batch = await transaction(pool, (executor) => readBatch(executor, { from, to }, limits));
      await sendObservations(thread, catalog, batch.observations, body !== null);
      from = batch.to;
    }
  } catch (err) {
    await thread.end();
    throw err;
  }
  return { thread, version, isFirst: true, unfitted: 1, nextFitMs: 0 };
}

/**
 * Passes rows to the thread.
 * @param isKnown whether the model already includes the sales of these rows
 */
async function sendObservations(
  thread: FitThread,
  catalog: LearningCatalog,
  observations: readonly Observation[],
  isKnown = false,
): Promise<void> {
  for (let from = 0; from < observations.length; from += sliceSize) {
    const slice = observations.slice(from, from + sliceSize);
    await catalog.readyAll(slice.map((observation) => observation.publisher_id));
    const events = slice.map(createEventReader(catalog)).filter((event) => event !== null);
    if (events.length > 0) await thread.take(isKnown ? events.map((event) => ({ ...event, sale: null })) : events);
    await nextTurn();
  }
}

/**
 * Fits the model, unless the last fit was too recent.
 * @returns null if there is nothing to learn
 */
async function fitNext(
  leading: Leading,
  { traffic }: Progress,
  { requests, isComplete }: Batch,
  nowMs: number,
): Promise<FitResult | null> {
  const isDue = leading.unfitted > 0 && isComplete && performance.now() >= leading.nextFitMs;
  if (!isDue && requests.length === 0) return null;
  const { version, isFirst, thread } = leading;
  const next = isFirst ? firstAfter(version) : version + 1;
  const result = await thread.fit({ requests, traffic, nowMs, isDue, version: next, isFull: isFirst });
  if (!isDue) return result;
  leading.unfitted = 0;
  leading.nextFitMs = performance.now() + Math.min(maxPauseMs, pausePerFit * result.tookMs);
  return result;
}

/** Time for which marks are retained, in milliseconds. A starting learner rereads rows from one of the marks. */
const marksMs = 8 * dayMs;

type Input = { progress: Progress; end: string; databaseMs: number; batch: Batch };

function nextProgress(
  { progress, end, databaseMs, batch }: Input,
  fit: FitResult | null,
  { id, nowMs }: { id: string; nowMs: number },
): Progress {
  const { to, isComplete } = batch;
  const delays = fit?.delays ?? progress.delays;
  return {
    xid: to,
    marks: isComplete ? withMark(progress.marks, nowMs, end, marksMs) : progress.marks,
    traffic: fit?.traffic ?? progress.traffic,
    ...(delays === undefined ? {} : { delays }),
    lead: { id, atMs: databaseMs },
  };
}

/** Interval of the leader's heartbeat, in milliseconds. */
const renewMs = 10_000;

const isOld = ({ lead }: Progress, nowMs: number): boolean => lead === null || Math.abs(nowMs - lead.atMs) > renewMs;

/** Returns the ID of the oldest transaction that may still be running. All earlier transactions have ended. */
async function oldestOpen(executor: Executor): Promise<string> {
  const { rows } = await executor.query<{ xid: string }>('select pg_snapshot_xmin(pg_current_snapshot())::text as xid');
  return (rows[0] as { xid: string }).xid;
}
