/** A webhook to send, the same for every system. */
export type Job = { id: string; url: string; payload: string };

/** A queue on PostgreSQL that sends webhooks. */
export type System = {
  name: string;
  /** Creates its tables. */
  prepare: (databaseUrl: string) => Promise<void>;
  /** Opens a producer of jobs. */
  openProducer: (
    databaseUrl: string,
  ) => Promise<{ add: (jobs: readonly Job[]) => Promise<void>; close: () => Promise<void> }>;
};

/** A system whose worker is a library. It runs in a separate process, `worker.ts`, with the same handler for all. */
export type Rival = System & {
  startWorker: (databaseUrl: string, handle: (job: Job) => Promise<void>, concurrency: number) => Promise<void>;
};
