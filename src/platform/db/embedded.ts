import type { Logger } from '../logger.ts';
import type { DatabaseHealth } from './health.ts';

/** A PostgreSQL server that runs on a folder of this machine. */
export type EmbeddedDatabase = {
  url: string;
  /** Starts the server again if it has died. */
  ensureRunning: () => Promise<unknown>;
  stop: () => Promise<unknown>;
};

/** Databases of installations without DATABASE_URL; a program without them needs a DATABASE_URL. */
export type EmbeddedDatabases = {
  /** Whether a folder holds a database. */
  isIn: (dataDir: string) => boolean;
  /** Starts the database of a folder, or attaches to the server that runs there. */
  start: (options: { dataDir: string; log?: (line: string) => void }) => Promise<EmbeddedDatabase>;
  /** Starts the server again whenever it dies. @returns ends that */
  supervise: (database: EmbeddedDatabase, deps: { dbHealth: DatabaseHealth; logger: Logger }) => () => Promise<void>;
};
