import type { Registry } from 'prom-client';
import type { Role } from '../../config.ts';

/** What the primary process hands to one that it starts. */
export type Assignment = {
  roles: readonly Role[];
  /** The first one loads the demo, and prints what an operator reads. */
  first: boolean;
  /** All processes together (count). */
  processes: number;
  /** Of the embedded database that the primary runs; null where DATABASE_URL is set. */
  embeddedUrl: string | null;
};

/** Metrics of a process, in the shape of prom-client's `getMetricsAsJSON`. */
export type Samples = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** From a process to its primary. */
export type Report =
  | { type: 'ready' }
  | { type: 'page wanted'; id: number }
  | { type: 'samples'; id: number; samples: Samples };

/** From the primary to a process. */
export type Order =
  | { type: 'stop' }
  | { type: 'samples wanted'; id: number }
  | { type: 'page'; id: number; text: string };

/** The variable that holds the assignment of a started process, as JSON. Set by the primary only. */
export const assignmentVariable = 'PERKWIRE_ASSIGNMENT';
