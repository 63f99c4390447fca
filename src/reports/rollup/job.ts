import type pg from 'pg';
import { dropPartitions } from '../../platform/db/partitions.ts';
import type { RetentionStep } from '../../platform/db/retention.ts';
import { dayMs, dayOf, minuteMs } from '../../platform/lib/time.ts';
import type { Logger } from '../../platform/logger.ts';
import { completeMoney } from './money.ts';
import { createRangeSummariser } from './ranges.ts';
import { rebucketNext } from './rebucket.ts';
import { minutesKept, rollUp } from './roll-up.ts';

type RollupJobDeps = { pool: pg.Pool; logger: Logger; now: () => number };

/**
 * Maximum delay until an event is counted, in milliseconds. An event that arrives during a rollup is counted by the
 * next one.
 */
const maxDelayMs = 1600;
/** Minimum pause between rollups if they are fast, in milliseconds. */
const minPauseMs = 400;
/**
 * Length of the pause as a multiple of the last rollup's duration. Rollups spend most of their time writing summary
 * rows, so longer pauses reduce the number of times that these rows are rewritten.
 */
const pauseRatio = 20;
/**
 * Number of transactions per rollup. It is reduced if a rollup takes nearly two seconds, and increased if it takes less
 * than about one second.
 */
const transactions = { min: 100, first: 10_000, max: 10_000_000 };
/**
 * Time span of the sessions that one re-bucketing step processes, in milliseconds. It is adjusted to the step's
 * duration in the same way.
 */
const steps = { minMs: 60_000, maxMs: 30 * dayMs };
const quickMs = 800;
const slowMs = 1800;

/** Returns the pause from the end of a rollup to the start of the next one, in milliseconds. */
export const pauseAfter = (tookMs: number): number =>
  Math.max(0, Math.min(Math.max(minPauseMs, pauseRatio * tookMs), maxDelayMs - 2 * tookMs));

type JobState = { maxTransactions: number; stepMs: number };

/**
 * Creates the job that keeps the rollups up to date. Every worker runs it, but only the worker that holds the lock does
 * the work. If that worker stops, another one takes over.
 * @returns a function that runs the job once and resolves to the pause until the next run, in milliseconds
 */
export function createRollupJob({ pool, logger, now }: RollupJobDeps): () => Promise<number> {
  const summariseRanges = createRangeSummariser(pool);
  let isMoneyComplete = false;
  const state: JobState = { maxTransactions: transactions.first, stepMs: steps.minMs };

  return async () => {
    const startMs = performance.now();
    try {
      if (!isMoneyComplete) await completeMoney(pool, now());
      isMoneyComplete = true;
      // Ignore failures: without range summaries, rollups are still correct but have to read more pages.
      await summariseRanges(now()).catch((err: unknown) => logger.debug({ err }, 'summarising ranges failed'));
      const { events, complete } = await rollUp(pool, now(), state.maxTransactions);
      const tookMs = performance.now() - startMs;
      adaptTransactions(state, tookMs, complete);
      if (tookMs > slowMs) logger.debug({ events, tookMs: Math.round(tookMs) }, 'rollup was slow');
      if (!complete) return 0;
      return (await rebucketStep(pool, state, now())) ? 0 : pauseAfter(tookMs);
    } catch (err) {
      state.stepMs = steps.minMs;
      state.maxTransactions = Math.max(transactions.min, Math.floor(state.maxTransactions / 2));
      throw err;
    }
  };
}

function adaptTransactions(state: JobState, tookMs: number, complete: boolean): void {
  if (tookMs > slowMs) state.maxTransactions = Math.max(transactions.min, Math.floor(state.maxTransactions / 2));
  else if (tookMs < quickMs && !complete) state.maxTransactions = Math.min(transactions.max, state.maxTransactions * 2);
}

/**
 * Re-buckets some of the rollups for a publisher whose time zone has changed.
 * @returns whether there was anything to re-bucket
 */
async function rebucketStep(pool: pg.Pool, state: JobState, nowMs: number): Promise<boolean> {
  const startMs = performance.now();
  const { hasWork } = await rebucketNext(pool, nowMs, state.stepMs);
  const tookMs = performance.now() - startMs;
  if (tookMs > slowMs) state.stepMs = Math.max(steps.minMs, state.stepMs / 2);
  else if (hasWork && tookMs < quickMs) state.stepMs = Math.min(steps.maxMs, state.stepMs * 4);
  return hasWork;
}

/**
 * Deletes bookings after RETENTION_RAW_DAYS and rollups after RETENTION_ROLLUP_DAYS. Each rollup partition covers a
 * month and is dropped when all days in that month have expired.
 */
export const applyReportRetention: RetentionStep = async (pool, { retentionRawDays, retentionRollupDays }, nowMs) => {
  const rawFrom = dayOf(nowMs - retentionRawDays * dayMs);
  const rollupFrom = dayOf(nowMs - retentionRollupDays * dayMs);
  const days = await dropPartitions(pool, ['bookings'], rawFrom);
  const values = await dropPartitions(pool, ['custom_values'], rollupFrom);
  const months = await dropPartitions(
    pool,
    ['rollups', 'custom_rollups', 'rollup_money', 'custom_rollup_money', 'reach_sketches'],
    `${rollupFrom.slice(0, 7)}-01`,
  );
  await pool.query('delete from reconciliation where day < $1::date', [rollupFrom]);
  for (const table of ['minute_rollups', 'minute_money'])
    await pool.query(`delete from ${table} where minute < $1`, [new Date(nowMs - minutesKept * minuteMs)]);
  return { partitions: days + values + months };
};
