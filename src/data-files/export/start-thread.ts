import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ExportResult } from './run.ts';
import type { ThreadInput, ThreadOutput } from './thread.ts';

/** Error that ended the export thread. */
class ExportError extends Error {
  override readonly name: string;
  constructor({ name, message }: { name: string; message: string }) {
    super(message);
    this.name = name;
  }
}

function createWorker(input: ThreadInput): Worker {
  const options = { workerData: input };
  if (!import.meta.url.endsWith('.ts')) return new Worker(new URL('./thread.js', import.meta.url), options);
  // In development, threads don't inherit the TypeScript loader, so the thread must register it first.
  const file = JSON.stringify(new URL('./thread.ts', import.meta.url).href);
  return new Worker(`import('tsx/esm/api').then(({ register }) => { register(); return import(${file}); })`, {
    ...options,
    eval: true,
  });
}

/** Interval at which to check whether a running export must stop because its process ends, in milliseconds. */
const checkMs = 200;

/**
 * Exports the run that is due in a thread of its own.
 * @throws ExportError
 */
export async function exportInThread(input: ThreadInput, isStopped: () => boolean): Promise<ExportResult> {
  const worker = createWorker(input);
  const timer = setInterval(() => {
    if (isStopped()) worker.postMessage('stop');
  }, checkMs);
  try {
    const ended = once(worker, 'exit').then(() => [null] as const);
    const [output] = (await Promise.race([once(worker, 'message'), ended])) as readonly [ThreadOutput | null];
    if (output === null) throw new ExportError({ name: 'Error', message: 'The export ended without a result' });
    if ('error' in output) throw new ExportError(output.error);
    return output.result;
  } finally {
    clearInterval(timer);
    await worker.terminate();
  }
}
