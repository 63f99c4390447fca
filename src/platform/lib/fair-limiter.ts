import { AppError } from '../errors.ts';
import type { Problem } from '../problem.ts';

export type LimiterOptions = {
  /** Maximum number of concurrent tasks. */
  maxConcurrent: number;
  /** Maximum number of concurrent tasks per client. By default, there is no limit per client. */
  maxConcurrentPerClient?: number;
  /** Maximum number of queued tasks per client. Any more are rejected with 503. */
  maxWaitingPerClient: number;
  /** Maximum number of queued tasks for all clients together. By default, only the limit per client applies. */
  maxWaiting?: number;
  /**
   * Maximum time that a task may be queued, in milliseconds. After that, it is rejected. By default, there is no limit.
   */
  maxWaitMs?: number;
  /** Error message for rejected tasks. */
  message: Problem;
};

export type WorkOptions = {
  /** Client that the task belongs to. By default, all tasks belong to the same client. */
  client?: number | string;
  /** Abort signal that fires when the result is no longer needed. A task that is still queued then never starts. */
  signal?: AbortSignal | undefined;
};

/**
 * Runs a task within the limits. Rejects with `unavailable` (503, retry-after) if too many tasks are queued or the task
 * was queued for too long.
 */
export type Limiter = <T>(work: () => Promise<T>, options?: WorkOptions) => Promise<T>;

type ClientQueue = { running: number; waiting: (() => void)[] };

/**
 * Creates a limiter that runs each client's tasks in order of arrival, alternating between clients (round-robin). A
 * client that floods the limiter occupies at most `maxConcurrent` workers and `maxWaitingPerClient` queue positions,
 * and delays every other client by only one task.
 */
export function createLimiter(options: LimiterOptions): Limiter {
  const { maxConcurrent, maxConcurrentPerClient = maxConcurrent, maxWaitMs, message } = options;
  const { maxWaitingPerClient, maxWaiting = Number.POSITIVE_INFINITY } = options;
  /** Client queues in round-robin order. */
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
