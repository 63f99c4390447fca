import type { Role } from '../config.ts';
import { hourMs, minuteMs } from './lib/time.ts';

/** Running background work that can be stopped. Modules register their jobs; nothing else starts background work. */
export type Stoppable = { stop: () => Promise<void> };

type Description = {
  name: string;
  /** Process roles that run the job. */
  roles: readonly Role[];
  /** Description of how concurrent processes are coordinated and which locks a run acquires. */
  locks: string;
};

/** Job that runs repeatedly, with a pause after each run. It does not run while the database is unavailable. */
export type LoopJob = Description & {
  /** Default pause between two runs, in milliseconds. A run can return a different pause. */
  pauseMs: number;
  /** Pause after a failed run, in milliseconds. Defaults to `pauseMs`. */
  retryMs?: number;
  /** Minimum pause as a multiple of the run duration. Defaults to 0. */
  pausePerRun?: number;
  /**
   * Runs the job once.
   * @returns the pause until the next run, in milliseconds, or nothing to use the default
   */
  run: (isStopped: () => boolean) => Promise<void> | Promise<number>;
  /** Called after the last run. */
  onStop?: () => Promise<void>;
};

/** Job that manages its own schedule. */
type ServiceJob = Description & { start: () => Promise<Stoppable> };

export type Job = LoopJob | ServiceJob;

export const everyRole: readonly Role[] = ['api', 'worker'];

/** Options of jobs that run hourly in every process. */
export const hourly = { roles: everyRole, pauseMs: hourMs, retryMs: minuteMs };
