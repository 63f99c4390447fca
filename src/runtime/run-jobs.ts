import type { Role } from '../config.ts';
import type { DatabaseHealth } from '../platform/db/health.ts';
import { isDatabaseUnavailable } from '../platform/db/pool.ts';
import { startLoop } from '../platform/lib/loop.ts';
import type { Logger } from '../platform/logger.ts';
import type { JobMeter } from './job-meter.ts';

export type Stoppable = { stop: () => Promise<void> };

type Description = {
  name: string;
  /** Processes with one of these roles run it. */
  roles: readonly Role[];
  /** How concurrent processes are coordinated, and what is locked during a run. */
  locks: string;
};

/** Work that is repeated: a run, a pause, and so on; not while the database is unavailable. */
export type LoopJob = Description & {
  /** Pause between two runs, unless a run returns another (milliseconds). */
  pauseMs: number;
  /** Pause after a run that failed (milliseconds). Default: `pauseMs`. */
  retryMs?: number;
  /** Long runs are followed by long pauses: at least this many times as long as the run. Default: 0. */
  pausePerRun?: number;
  /** @returns the pause until the next run (milliseconds), or nothing */
  run: (isStopped: () => boolean) => Promise<void> | Promise<number>;
  /** After the last run. */
  onStop?: () => Promise<void>;
};

/** Work with a schedule of its own. */
type ServiceJob = Description & { start: () => Promise<Stoppable> };

export type Job = LoopJob | ServiceJob;

type RunnerDeps = { dbHealth: Pick<DatabaseHealth, 'isUp' | 'sawFailure'>; logger: Logger; jobMeter: JobMeter };

/** Starts the jobs; `stop` resolves when all of them have ended. */
export async function runJobs(jobs: readonly Job[], deps: RunnerDeps): Promise<Stoppable> {
  const running = await Promise.all(jobs.map((job) => ('start' in job ? job.start() : runLoop(job, deps))));
  return {
    stop: async () => {
      await Promise.all(running.map((job) => job.stop()));
    },
  };
}

/** A series of failures is logged once. */
function runLoop(job: LoopJob, { dbHealth, logger, jobMeter }: RunnerDeps): Stoppable {
  const { name, pauseMs, retryMs = pauseMs, pausePerRun = 0, run, onStop } = job;
  let failing = false;
  const loop = startLoop(async (isStopped) => {
    if (!dbHealth.isUp()) return Math.min(pauseMs, retryMs);
    const startMs = performance.now();
    try {
      const givenMs = await run(isStopped);
      failing = false;
      const tookMs = performance.now() - startMs;
      jobMeter.ran(name, tookMs, false);
      const longPauseMs = pausePerRun * tookMs;
      return typeof givenMs === 'number' ? givenMs : Math.max(pauseMs, longPauseMs);
    } catch (err) {
      jobMeter.ran(name, performance.now() - startMs, true);
      if (isDatabaseUnavailable(err)) dbHealth.sawFailure(err);
      const level = failing || isDatabaseUnavailable(err) ? 'debug' : 'error';
      logger[level]({ err, job: name }, 'a background job failed and will be retried');
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
