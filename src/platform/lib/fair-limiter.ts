import { AppError } from '../errors.ts';
import type { Problem } from '../problem.ts';

export type LimiterOptions = {
  /** Maximum number of concurrent tasks. */
  maxConcurrent: number;
  /** Maximum number of concurrent tasks per client. Default: no limit per client. */
  maxConcurrentPerClient?: number;
  /** Maximum number of waiting tasks per client. Further ones are rejected with 503. */
  maxWaitingPerClient: number;
  /** Maximum number of waiting tasks in total. Default: no limit in addition to that per client. */
  maxWaiting?: number;
  /** Maximum waiting time, after which a task is rejected as well (milliseconds). Default: no limit. */
  maxWaitMs?: number;
  /** Message of a rejection. */
  message: Problem;
};

export type WorkOptions = {
  /** Client that the task is for. Default: all tasks are for the same client. */
  client?: number | string;
  /** Aborts when the result is no longer needed. A waiting task is then not started. */
  signal?: AbortSignal | undefined;
};

/**
 * Runs a task within the limits. Rejects with `unavailable` (503, retry-after) if too many tasks are waiting, or after
 * too long a wait.
 */
export type Limiter = <T>(work: () => Promise<T>, options?: WorkOptions) => Promise<T>;

type ClientQueue = { running: number; waiting: (() => void)[] };

/**
 * Creates a limiter: first come, first served within a client, round robin between clients. A flood of one client uses
 * at most `maxConcurrent` workers and `maxWaitingPerClient` places, and delays other clients by one task.
 */
export function createLimiter(options: LimiterOptions): Limiter {
  const { maxConcurrent, maxConcurrentPerClient = maxConcurrent, maxWaitMs, message } = options;
  const { maxWaitingPerClient, maxWaiting = Number.POSITIVE_INFINITY } = options;
  /** Queues in round-robin order. */
  const queues = new Map<number | string, ClientQueue>();
  let running = 0;
  let waiting = 0;

  const mayRun = (queue: ClientQueue): boolean => running < maxConcurrent && queue.running < maxConcurrentPerClient;
  const isFull = (queue: ClientQueue): boolean => queue.waiting.length >= maxWaitingPerClient || waiting >= maxWaiting;
  const refused = (): AppError => new AppError('unavailable', { retryAfterS: 1, message });

  function begin(client: number | string, queue: ClientQueue): void {
    running += 1;
    queue.running += 1;
    queues.delete(client);
    queues.set(client, queue); // moves to the end of the order
  }

  function removeIfIdle(client: number | string, queue: ClientQueue): void {
    if (queue.running === 0 && queue.waiting.length === 0) queues.delete(client);
  }

  function end(client: number | string, queue: ClientQueue): void {
    running -= 1;
    queue.running -= 1;
    removeIfIdle(client, queue);
    for (const [next, nextQueue] of queues) {
      if (nextQueue.waiting.length === 0 || !mayRun(nextQueue)) continue;
      begin(next, nextQueue);
      nextQueue.waiting.shift()?.();
      return;
    }
  }

  const wait = (client: number | string, queue: ClientQueue, signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const settle = (how: () => void): void => {
        waiting -= 1;
        clearTimeout(timer);
        signal?.removeEventListener('abort', refuse);
        how();
      };
      const start = (): void => settle(resolve);
      const refuse = (): void => {
        queue.waiting.splice(queue.waiting.indexOf(start), 1);
        removeIfIdle(client, queue);
        settle(() => reject(refused()));
      };
      const timer = maxWaitMs === undefined ? undefined : setTimeout(refuse, maxWaitMs);
      signal?.addEventListener('abort', refuse);
      queue.waiting.push(start);
      waiting += 1;
    });

  return async (work, { client = 0, signal } = {}) => {
    const queue = queues.get(client) ?? { running: 0, waiting: [] };
    if (signal?.aborted || (!mayRun(queue) && isFull(queue))) throw refused();
    queues.set(client, queue);
    if (mayRun(queue)) begin(client, queue);
    else await wait(client, queue, signal);
    try {
      return await work();
    } finally {
      end(client, queue);
    }
  };
}
