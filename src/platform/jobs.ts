import type { Role } from '../config.ts';
import { hourMs, minuteMs } from './lib/time.ts';

/** Background work: modules hand in their jobs, and nothing else starts any. */
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

export const everyRole: readonly Role[] = ['api', 'worker'];

/** Members of jobs that run once an hour in every process. */
export const hourly = { roles: everyRole, pauseMs: hourMs, retryMs: minuteMs };
