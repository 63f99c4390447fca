import { Worker } from 'node:worker_threads';
import type { FitResult, FitSession, SessionStart } from './fit-session.ts';
import type { FitMessage, FitReply } from './fit-thread.ts';

/** A fit session that runs in a separate thread. */
export type FitThread = {
  take: (...input: Parameters<FitSession['take']>) => Promise<void>;
  fit: FitSession['fit'];
  end: () => Promise<void>;
};

type Waiting = { resolve: (result: unknown) => void; reject: (err: unknown) => void };

function createWorker(): Worker {
  if (!import.meta.url.endsWith('.ts')) return new Worker(new URL('./fit-thread.js', import.meta.url));
  // In development, threads don't inherit the TypeScript loader, so the thread must register it before it loads its
  // code.
  const file = JSON.stringify(new URL('./fit-thread.ts', import.meta.url).href);
  return new Worker(`import('tsx/esm/api').then(({ register }) => { register(); return import(${file}); })`, {
    eval: true,
  });
}

/** Starts the thread that computes fits. In a separate thread, they never block requests. */
export async function startFitThread(start: SessionStart): Promise<FitThread> {
  const worker = createWorker();
  worker.unref();
  const waiting: Waiting[] = [];
  let failure: Error | null = null;
  const fail = (err: Error): void => {
    failure ??= err;
    for (const { reject } of waiting.splice(0)) reject(err);
  };
  worker.on('message', (reply: FitReply) => {
    const caller = waiting.shift();
    if ('err' in reply) caller?.reject(reply.err);
    else caller?.resolve(reply.result);
  });
  worker.on('error', fail);
  worker.on('exit', () => fail(new Error('the thread of the learner ended')));
  const send = (message: FitMessage): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (failure !== null) {
        reject(failure);
        return;
      }
      waiting.push({ resolve, reject });
      worker.postMessage(message);
    });
  const thread: FitThread = {
    take: async (events) => {
      await send({ what: 'take', events });
    },
    fit: async (request) => withBuffers((await send({ what: 'fit', request })) as FitResult),
    end: async () => {
      await worker.terminate();
    },
  };
  try {
    await send({ what: 'start', start });
  } catch (err) {
    await thread.end();
    throw err;
  }
  return thread;
}

/** Converts byte arrays in the thread's replies to buffers. */
const withBuffers = (result: FitResult): FitResult => ({
  ...result,
  versions: result.versions.map((version) => ({ ...version, body: Buffer.from(version.body) })),
});
