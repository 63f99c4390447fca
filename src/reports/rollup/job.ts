import type pg from 'pg';
import { dayMs } from '../../platform/lib/time.ts';
import type { Logger } from '../../platform/logger.ts';
import { createSummariser } from './ranges.ts';
import { moveZone } from './rebucket.ts';
import { fold } from './statement.ts';

type RollupJobDeps = { pool: pg.Pool; logger: Logger; now: () => number };

/** Facts are counted this soon (milliseconds); what comes while a fold is under way waits for it and for the next. */
const countedMs = 1600;
/** Of pauses, those of a store that has little to do (milliseconds). */
const leastPauseMs = 400;
/**
 * How much longer than the last fold the pause is: most of its work is rows of sums, which fewer folds write less
 * often.
 */
const restRatio = 20;
/** Transactions one fold takes (count): few enough for two seconds, grown while folds take less than one. */
const spans = { least: 100, first: 10_000, most: 10_000_000 };
/** Time whose sessions one step of a move to another time zone takes, grown and shrunk likewise (milliseconds). */
const steps = { leastMs: 60_000, mostMs: 30 * dayMs };
const quickMs = 800;
const slowMs = 1800;

/** From the end of a fold to the beginning of the next (milliseconds). */
export const pauseAfter = (tookMs: number): number =>
  Math.max(0, Math.min(Math.max(leastPauseMs, restRatio * tookMs), countedMs - 2 * tookMs));

/**
 * Keeps the rollups up to date. Every worker runs it; the first to take the lock does the work, and another takes over
 * when it stops.
 * @returns one run, which resolves to the pause until the next (milliseconds)
 */
export function createRollupJob({ pool, logger, now }: RollupJobDeps): () => Promise<number> {
  let span = spans.first;
  let stepMs = steps.leastMs;
  const summarise = createSummariser(pool);

  /** Without it folds are right, and only read more. */
  async function keepRangesShort(): Promise<void> {
    await summarise(now()).catch((err: unknown) => logger.debug({ err }, 'what folds read could not be kept short'));
  }

  /**
   * Moves a little of the sums of a publisher whose time zone has changed. @returns whether there was something to move
   */
  async function moveOn(): Promise<boolean> {
    const startMs = performance.now();
    const { found } = await moveZone(pool, now(), stepMs);
    const tookMs = performance.now() - startMs;
    if (tookMs > slowMs) stepMs = Math.max(steps.leastMs, stepMs / 2);
    else if (found && tookMs < quickMs) stepMs = Math.min(steps.mostMs, stepMs * 4);
    return found;
  }

  return async () => {
    const startMs = performance.now();
    try {
      await keepRangesShort();
      const { facts, complete } = await fold(pool, now(), span);
      const tookMs = performance.now() - startMs;
      if (tookMs > slowMs) span = Math.max(spans.least, Math.floor(span / 2));
      else if (tookMs < quickMs && !complete) span = Math.min(spans.most, span * 2);
      if (tookMs > slowMs) logger.debug({ facts, tookMs: Math.round(tookMs), span }, 'a fold of the reports took long');
      if (!complete) return 0;
      return (await moveOn()) ? 0 : pauseAfter(tookMs);
    } catch (err) {
      stepMs = steps.leastMs;
      span = Math.max(spans.least, Math.floor(span / 2));
      throw err;
    }
  };
}
