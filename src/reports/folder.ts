import type pg from 'pg';
import type { Logger } from '../logger.ts';
import { type Rounds, startRounds } from '../rounds.ts';
import { fold } from './fold.ts';

type FolderOptions = { pool: pg.Pool; logger: Logger; now: () => number };

/** From the end of one fold to the beginning of the next (milliseconds). */
const pauseMs = 400;
/** After a failure, which is mostly that of the database (milliseconds). */
const retryMs = 1000;
/** Transactions one fold takes (count): few enough for a second, grown while folds are quick. */
const spans = { least: 100, first: 1000, most: 10_000_000 };
const quickMs = 150;
const slowMs = 1500;

/** Keeps the rollups up to date. Every worker tries; whoever comes first folds, and the others go on when it is gone. */
export function startFolder({ pool, logger, now }: FolderOptions): Rounds {
  let span = spans.first;
  let failing = false;

  return startRounds(async () => {
    const startMs = performance.now();
    try {
      const { facts, complete } = await fold(pool, now(), span);
      const tookMs = performance.now() - startMs;
      if (tookMs > slowMs) span = Math.max(spans.least, Math.floor(span / 2));
      else if (tookMs < quickMs && !complete) span = Math.min(spans.most, span * 2);
      if (tookMs > slowMs) logger.debug({ facts, tookMs: Math.round(tookMs), span }, 'a fold of the reports took long');
      failing = false;
      return complete ? pauseMs : 0;
    } catch (err) {
      span = Math.max(spans.least, Math.floor(span / 2));
      if (!failing) logger.warn({ err }, 'the reports could not be brought up to date');
      failing = true;
      return retryMs;
    }
  });
}
