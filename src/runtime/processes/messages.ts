import type { Registry } from 'prom-client';
import type { Role } from '../../config.ts';

/** Assignment that the primary process passes to a process that it starts. */
export type Assignment = {
  roles: readonly Role[];
  /** Whether it is the first process, which loads the demo and prints messages for the operator. */
  first: boolean;
  /** Total number of processes. */
  processes: number;
  /** URL of the embedded database that the primary runs; null if DATABASE_URL is set. */
  embeddedUrl: string | null;
};

/** Metrics of a process, in the format of prom-client's `getMetricsAsJSON`. */
export type Samples = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** Message from a process to its primary. */
export type Report =
  | { type: 'ready' }
  | { type: 'page wanted'; id: number }
  | { type: 'samples'; id: number; samples: Samples };

/** Message from the primary to a process. */
export type Order =
  | { type: 'stop' }
  | { type: 'samples wanted'; id: number }
  | { type: 'page'; id: number; text: string };

/** Environment variable with the assignment of a started process, as JSON. Set only by the primary. */
export const assignmentVariable = 'PERKWIRE_ASSIGNMENT';
