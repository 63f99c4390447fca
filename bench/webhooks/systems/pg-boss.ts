import { importRival } from './rival.ts';
import type { Job, Rival } from './types.ts';

type Boss = {
  on: (event: 'error', listener: (err: Error) => void) => void;
  start: () => Promise<unknown>;
  stop: () => Promise<unknown>;
  createQueue: (name: string) => Promise<void>;
  insert: (jobs: { name: string; data: Job }[]) => Promise<unknown>;
  work: (
    name: string,
    options: { batchSize: number; pollingIntervalSeconds: number },
    handler: (jobs: { data: Job }[]) => Promise<void>,
  ) => Promise<string>;
};
type Module = {
  default: new (options: { connectionString: string; max: number; supervise: boolean; schedule: boolean }) => Boss;
};

const queue = 'webhooks';

async function open(databaseUrl: string): Promise<Boss> {
  const { default: PgBoss } = await importRival<Module>('pg-boss');
  const boss = new PgBoss({ connectionString: databaseUrl, max: 10, supervise: false, schedule: false });
  boss.on('error', (err) => console.error('pg-boss', err.message));
  await boss.start();
  return boss;
}

/** pg-boss with large batches, because it polls at most twice per second and reads one batch per poll. */
export const pgBoss: Rival = {
  name: 'pg-boss 10.4.2',
  prepare: async (databaseUrl) => {
    const boss = await open(databaseUrl);
    await boss.createQueue(queue);
    await boss.stop();
  },
  openProducer: async (databaseUrl) => {
    const boss = await open(databaseUrl);
    return {
      add: async (jobs) => void (await boss.insert(jobs.map((data) => ({ name: queue, data })))),
      close: async () => void (await boss.stop()),
    };
  },
  startWorker: async (databaseUrl, handle, concurrency) => {
    const boss = await open(databaseUrl);
    for (let worker = 0; worker < 4; worker++) {
      await boss.work(queue, { batchSize: 250, pollingIntervalSeconds: 0.5 }, async (jobs) => {
        const waiting = [...jobs];
        const lanes = Array.from({ length: Math.ceil(concurrency / 4) }, async () => {
          for (let job = waiting.pop(); job !== undefined; job = waiting.pop()) await handle(job.data);
        });
        await Promise.all(lanes);
      });
    }
  },
};
