import { importRival } from './rival.ts';
import type { Job, Rival } from './types.ts';

type Options = { connection: { connectionString: string; migrate: boolean } };
type Queue = {
  waitUntilReady: () => Promise<unknown>;
  addBulk: (jobs: { name: string; data: Job; opts: object }[]) => Promise<unknown>;
  close: () => Promise<void>;
};
type Worker = { waitUntilReady: () => Promise<unknown>; on: (event: 'error', listener: (err: Error) => void) => void };
type Module = {
  createPostgresBackend: unknown;
  Queue: new (name: string, options: Options, backend: unknown) => Queue;
  Worker: new (
    name: string,
    handler: (job: { data: Job }) => Promise<void>,
    options: Options & { concurrency: number },
    backend: unknown,
  ) => Worker;
};

const queue = 'webhooks';
const to = (connectionString: string): Options => ({ connection: { connectionString, migrate: true } });

async function open(databaseUrl: string): Promise<Queue> {
  const { Queue, createPostgresBackend } = await importRival<Module>('bullmq');
  const opened = new Queue(queue, to(databaseUrl), createPostgresBackend);
  await opened.waitUntilReady();
  return opened;
}

/** BullMQ with its PostgreSQL backend. */
export const bullmq: Rival = {
  name: 'bullmq 6.7.0 (PostgreSQL)',
  prepare: async (databaseUrl) => (await open(databaseUrl)).close(),
  openProducer: async (databaseUrl) => {
    const opened = await open(databaseUrl);
    return {
      add: async (jobs) =>
        void (await opened.addBulk(
          jobs.map((data) => ({ name: 'webhook', data, opts: { removeOnComplete: true, attempts: 10 } })),
        )),
      close: () => opened.close(),
    };
  },
  startWorker: async (databaseUrl, handle, concurrency) => {
    const { Worker, createPostgresBackend } = await importRival<Module>('bullmq');
    const worker = new Worker(
      queue,
      ({ data }) => handle(data),
      { ...to(databaseUrl), concurrency },
      createPostgresBackend,
    );
    worker.on('error', (err) => console.error('bullmq', err.message));
    await worker.waitUntilReady();
  },
};
