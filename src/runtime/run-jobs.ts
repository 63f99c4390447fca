import type pg from 'pg';
import type { Config } from '../config.ts';
import { isDatabaseUnavailable } from '../platform/db/pool.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import { hourly, type Job, type LoopJob, type Stoppable } from '../platform/jobs.ts';
import { startLoop } from '../platform/lib/loop.ts';
import type { Logger } from '../platform/logger.ts';
import { partitionLock } from '../platform/module.ts';
import type { JobMeter } from './job-meter.ts';
import type { Contributions, Module } from './module.ts';

type RunnerDeps = {
  dbHealth: { isUp: () => boolean; sawFailure: (err: unknown) => void };
  logger: Logger;
  jobMeter: JobMeter;
};

/**
 * Lists the background jobs of all modules. No other code starts jobs. Several processes may run the same job
 * concurrently.
 */
export const jobsOf = (contributions: Contributions, deps: RetentionDeps): readonly Job[] => [
  ...contributions.modules.flatMap(({ jobs }) => jobs?.(contributions) ?? []),
  retentionJob(contributions.modules, deps),
];

/** Starts the jobs. The returned `stop` ends them and resolves when all have ended. */
export async function runJobs(jobs: readonly Job[], deps: RunnerDeps): Promise<Stoppable> {
  const running = await Promise.all(jobs.map((job) => ('start' in job ? job.start() : runLoop(job, deps))));
  return {
    stop: async () => {
      await Promise.all(running.map((job) => job.stop()));
    },
  };
}

/** Runs a job repeatedly. Of several consecutive failures, only the first is logged as an error. */
function runLoop(job: LoopJob, { dbHealth, logger, jobMeter }: RunnerDeps): Stoppable {
  const { name, pauseMs, retryMs = pauseMs, pausePerRun = 0, run, onStop } = job;
  let failing = false;
  const loop = startLoop(async (isStopped) => {
    if (!dbHealth.isUp()) return Math.min(pauseMs, retryMs);
    const startMs = performance.now();
    try {
      const requestedMs = await run(isStopped);
      failing = false;
      const tookMs = performance.now() - startMs;
      jobMeter.ran(name, tookMs, false);
      const longPauseMs = pausePerRun * tookMs;
      return typeof requestedMs === 'number' ? requestedMs : Math.max(pauseMs, longPauseMs);
    } catch (err) {
      jobMeter.ran(name, performance.now() - startMs, true);
      if (isDatabaseUnavailable(err)) dbHealth.sawFailure(err);
      const level = failing || isDatabaseUnavailable(err) ? 'debug' : 'error';
      logger[level]({ err, job: name }, 'background job failed; will retry');
      failing = true;
      return retryMs;
    }
  });
  return {
    stop: async () => {
      await loop.stop();
      if (dbHealth.isUp()) await onStop?.();
    },
  };
}

type RetentionDeps = { pool: pg.Pool; config: Config; logger: Logger; now: () => number };

/**
 * Applies each module's retention, which deletes its expired rows. Modules run in reverse order, because later modules
 * find their expired rows through the rows of earlier modules. Several processes may run this concurrently.
 */
export async function applyRetention(
  modules: readonly { name: string; retention?: RetentionStep }[],
  { pool, config, logger, now }: RetentionDeps,
): Promise<void> {
  for (const { name, retention } of modules.toReversed()) {
    if (retention === undefined) continue;
    const deleted = await retention(pool, config, now());
    logger.debug({ module: name, deleted }, 'retention applied');
    if (deleted.discarded) logger.warn({ count: deleted.discarded }, 'queued deliveries discarded by retention');
  }
}

const retentionJob = (modules: readonly Module[], deps: RetentionDeps): Job => ({
  name: 'retention',
  ...hourly,
  locks: `${partitionLock}; partitioned tables, for which it waits 2 s at most`,
  run: () => applyRetention(modules, deps),
});
