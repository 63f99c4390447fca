import type { Registry } from 'prom-client';
import type { Role } from '../../config.ts';

/** Assignment that the primary process passes to each child process at startup. */
export type Assignment = {
  roles: readonly Role[];
  /** Whether this is the first process, which loads the demo and prints messages for the operator. */
  first: boolean;
  /** Total number of processes. */
  processes: number;
  /** URL of the embedded database that the primary runs, or null if `DATABASE_URL` is set. */
  embeddedUrl: string | null;
};

/** Metrics of one process, in the format returned by prom-client's `getMetricsAsJSON`. */
export type Samples = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Message from a child process to its primary. */
export type Report =
  | { type: 'ready' }
  | { type: 'page wanted'; id: number }
  | { type: 'samples'; id: number; samples: Samples };

/** Message from the primary to a child process. */
export type Order =
  | { type: 'stop' }
  | { type: 'samples wanted'; id: number }
  | { type: 'page'; id: number; text: string };

/** Environment variable that holds the assignment of a child process as JSON. Only the primary sets it. */
export const assignmentVariable = 'PERKWIRE_ASSIGNMENT';
