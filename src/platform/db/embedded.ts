import type { Logger } from '../logger.ts';
import type { DatabaseHealth } from './health.ts';

/** A PostgreSQL server with its data in a local folder. */
export type EmbeddedDatabase = {
  url: string;
  /** Restarts the server if it has stopped. */
  ensureRunning: () => Promise<unknown>;
  stop: () => Promise<unknown>;
};

/** Embedded databases of installations without DATABASE_URL. Programs without them require DATABASE_URL. */
export type EmbeddedDatabases = {
  /** Whether a folder contains a database. */
  isIn: (dataDir: string) => boolean;
  /** Starts the database of a folder, or attaches to its running server. */
  start: (options: { dataDir: string; log?: (details: object, message: string) => void }) => Promise<EmbeddedDatabase>;
  /**
   * Restarts the server whenever it stops.
   * @returns a function that ends the supervision
   */
  supervise: (database: EmbeddedDatabase, deps: { dbHealth: DatabaseHealth; logger: Logger }) => () => Promise<void>;
};
