/** One webhook to send: what every system is given. */
export type Job = { id: string; url: string; payload: string };

/** A queue on PostgreSQL that sends webhooks. */
export type System = {
  name: string;
  /** Makes its tables. */
  prepare: (databaseUrl: string) => Promise<void>;
  /** Opens what puts jobs in. */
  openProducer: (
    databaseUrl: string,
  ) => Promise<{ add: (jobs: readonly Job[]) => Promise<void>; close: () => Promise<void> }>;
};

/** A system whose worker is a library: it runs in a process of its own, `worker.ts`, with the same handler for all. */
export type Rival = System & {
  startWorker: (databaseUrl: string, handle: (job: Job) => Promise<void>, concurrency: number) => Promise<void>;
};
