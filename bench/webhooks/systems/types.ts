/** A webhook to send. It is the same for every measured system. */
export type Job = { id: string; url: string; payload: string };

/** A PostgreSQL-based queue that sends webhooks. */
export type System = {
  name: string;
  /** Creates the tables of the system. */
  prepare: (databaseUrl: string) => Promise<void>;
  /** Opens a job producer. */
  openProducer: (
    databaseUrl: string,
  ) => Promise<{ add: (jobs: readonly Job[]) => Promise<void>; close: () => Promise<void> }>;
};

/**
 * A system whose worker is a library. It runs in a separate process, `worker.ts`, with the same handler for all
 * systems.
 */
export type Rival = System & {
  startWorker: (databaseUrl: string, handle: (job: Job) => Promise<void>, concurrency: number) => Promise<void>;
};
