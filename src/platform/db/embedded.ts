import type { Logger } from '../logger.ts';
import type { DatabaseHealth } from './health.ts';

/** PostgreSQL server that stores its data in a local folder. */
export type EmbeddedDatabase = {
  url: string;
  /** Restarts the server if it has stopped. */
  ensureRunning: () => Promise<unknown>;
  stop: () => Promise<unknown>;
};

/** Embedded databases for installations without DATABASE_URL. Builds that do not include them require DATABASE_URL. */
export type EmbeddedDatabases = {
  /** Whether a folder contains a database. */
  isIn: (dataDir: string) => boolean;
  /** Starts the database in a folder. If its server is already running, attaches to it. */
  start: (options: { dataDir: string; log?: (details: object, message: string) => void }) => Promise<EmbeddedDatabase>;
  /**
   * Supervises the server and restarts it whenever it stops.
   * @returns a function that ends the supervision
   */
  supervise: (database: EmbeddedDatabase, deps: { dbHealth: DatabaseHealth; logger: Logger }) => () => Promise<void>;
};
