import type { Executor } from '../../platform/db/pool.ts';

/** Interval at which the queue is checked while calls wait, in milliseconds. */
const checkMs = 250;
/** Maximum number of waiting calls per endpoint. Further calls return immediately. */
const maxPerEndpoint = 10;

/** Calls that wait for events. */
export type PullWaits = {
  /** Resolves when the endpoint has an event, when the time is over, or when the signal fires. */
  wait: (endpointId: number, ms: number, signal: AbortSignal) => Promise<void>;
  /** Ends all waits. */
  close: () => void;
};

/**
 * Creates the table of waiting calls. One statement checks the endpoints of all of them, so that a waiting call holds
 * no database connection.
 */
export function createPullWaits(executor: Executor): PullWaits {
  const waiting = new Map<number, Set<() => void>>();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const wake = (endpointId: number): void => {
    for (const end of [...(waiting.get(endpointId) ?? [])]) end();
  };

  function schedule(): void {
    if (timer !== undefined || waiting.size === 0) return;
    timer = setTimeout(async () => {
      const ids = await endpointsWithEvents(executor, [...waiting.keys()]).catch(() => []);
      timer = undefined;
      for (const id of ids) wake(id);
      schedule();
    }, checkMs);
  }

  return {
    wait: (endpointId, ms, signal) => {
      const calls = waiting.get(endpointId) ?? new Set();
      if (isClosed || signal.aborted || calls.size >= maxPerEndpoint) return Promise.resolve();
      waiting.set(endpointId, calls);
      return new Promise((resolve) => {
        const end = (): void => {
          clearTimeout(limit);
          signal.removeEventListener('abort', end);
          calls.delete(end);
          if (calls.size === 0 && waiting.get(endpointId) === calls) waiting.delete(endpointId);
          resolve();
        };
        const limit = setTimeout(end, ms);
        signal.addEventListener('abort', end, { once: true });
        calls.add(end);
        schedule();
      });
    },
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      for (const id of [...waiting.keys()]) wake(id);
    },
  };
}

async function endpointsWithEvents(executor: Executor, ids: readonly number[]): Promise<number[]> {
  const { rows } = await executor.query<{ id: number }>({
    name: 'find_pullable_endpoints',
    text: `select e.id from webhook_endpoints e
    where e.id = any($1::integer[]) and (not e.enabled or e.paused_at is null and (exists (
      select from delivery_queue q where q.lane = 'live' and q.endpoint_id = e.id and q.due_at <= now()
    ) or exists (
      select from delivery_queue q where q.lane = 'redelivery' and q.endpoint_id = e.id and q.due_at <= now()
    )))`,
    values: [ids],
  });
  return rows.map(({ id }) => id);
}
