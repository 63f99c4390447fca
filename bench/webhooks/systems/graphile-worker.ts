import { importRival } from './rival.ts';
import type { Job, Rival } from './types.ts';

type Utils = {
  migrate: () => Promise<void>;
  addJobs: (specs: { identifier: string; payload: Job }[]) => Promise<unknown>;
  release: () => Promise<void>;
};
type Module = {
  Logger: new (factory: () => () => void) => object;
  makeWorkerUtils: (options: { connectionString: string; maxPoolSize: number }) => Promise<Utils>;
  run: (options: {
    preset: object;
    connectionString: string;
    logger: object;
    taskList: Record<string, (payload: Job) => Promise<void>>;
  }) => Promise<unknown>;
};

const task = 'webhook';

/**
 * graphile-worker with its local queue and batched completion, which its documentation describes as the fastest
 * options.
 */
export const graphileWorker: Rival = {
  name: 'graphile-worker 0.17.3',
  prepare: async (connectionString) => {
    const { makeWorkerUtils } = await importRival<Module>('graphile-worker');
    const utils = await makeWorkerUtils({ connectionString, maxPoolSize: 2 });
    await utils.migrate();
    await utils.release();
  },
  openProducer: async (connectionString) => {
    const { makeWorkerUtils } = await importRival<Module>('graphile-worker');
    const utils = await makeWorkerUtils({ connectionString, maxPoolSize: 2 });
    return {
      add: async (jobs) => void (await utils.addJobs(jobs.map((payload) => ({ identifier: task, payload })))),
      close: () => utils.release(),
    };
  },
  startWorker: async (connectionString, handle, concurrency) => {
    const { run, Logger } = await importRival<Module>('graphile-worker');
    const worker = {
      concurrentJobs: concurrency,
      maxPoolSize: 10,
      pollInterval: 500,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    };
    await run({
      preset: { worker },
      logger: new Logger(() => () => {}),
      connectionString,
      taskList: { [task]: handle },
    });
  },
};
