import type { Role } from '../config.ts';
import { hourMs, minuteMs } from './lib/time.ts';

/** Background work. Modules register their jobs; nothing else starts background work. */
export type Stoppable = { stop: () => Promise<void> };

type Description = {
  name: string;
  /** Processes with one of these roles run the job. */
  roles: readonly Role[];
  /** How concurrent processes are coordinated, and which locks a run takes. */
  locks: string;
};

/** Repeated work: a run, a pause, and so on. It does not run while the database is unavailable. */
export type LoopJob = Description & {
  /** Pause between two runs, unless a run returns another one (milliseconds). */
  pauseMs: number;
  /** Pause after a failed run (milliseconds). Default: `pauseMs`. */
  retryMs?: number;
  /** Minimum pause as a multiple of the run's duration. Default: 0. */
  pausePerRun?: number;
  /**
   * Runs once.
   * @returns the pause until the next run (milliseconds), or nothing
   */
  run: (isStopped: () => boolean) => Promise<void> | Promise<number>;
  /** Called after the last run. */
  onStop?: () => Promise<void>;
};

/** Work with its own schedule. */
type ServiceJob = Description & { start: () => Promise<Stoppable> };

export type Job = LoopJob | ServiceJob;

export const everyRole: readonly Role[] = ['api', 'worker'];

/** Options of jobs that run hourly in every process. */
export const hourly = { roles: everyRole, pauseMs: hourMs, retryMs: minuteMs };
