import type pg from 'pg';
import type { Executor } from '../platform/db/pool.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';

/**
 * NOTIFY channel that wakes the workers, sent after the commit that queues deliveries. The payload names endpoints by
 * their ids, separated by blanks; without any, workers scan the queue.
 */
export const outboxChannel = 'perkwire_outbox';

/** Characters of a payload (PostgreSQL: 8,000 bytes). Ids cut off are found by the next scan. */
const maxPayloadLength = 7000;

/** Makes all workers scan the queue. */
export async function wakeWorkers(executor: Executor): Promise<void> {
  await executor.query("select pg_notify($1, '')", [outboxChannel]);
}

/** The endpoint ids in a payload; everyone with access to the database can send one, so anything else is ignored. */
export const endpointIdsOf = (payload: string): number[] => payload.split(' ').map(Number).filter(isEndpointId);

const isEndpointId = (value: number): boolean => Number.isInteger(value) && value > 0 && value < 2 ** 31;

/** Endpoints to be named to the workers, by pool; present while a notification is under way. */
const pending = new WeakMap<pg.Pool, Set<number>>();

/**
 * Tells the workers of endpoints that have deliveries to claim, after the commit. What is told while a notification is
 * under way goes with the next one. A transaction that notifies commits alone in the whole cluster, so this one holds
 * nothing else and does not wait for the disk. One that is lost costs the time to the next scan, at most a second.
 */
export function tellWorkers(pool: pg.Pool, endpointIds: readonly number[]): void {
  if (endpointIds.length === 0) return;
  const isUnderWay = pending.has(pool);
  const ids = getOrInsert(pending, pool, () => new Set<number>());
  for (const id of endpointIds) ids.add(id);
  if (!isUnderWay) void notifyPending(pool, ids);
}

async function notifyPending(pool: pg.Pool, ids: Set<number>): Promise<void> {
  try {
    while (ids.size > 0) {
      const payload = [...ids].join(' ').slice(0, maxPayloadLength);
      ids.clear();
      await pool.query({
        name: 'notify_outbox',
        text: `select set_config('synchronous_commit', 'off', true), pg_notify('${outboxChannel}', $1)`,
        values: [payload],
      });
    }
  } catch {
    // The next scan finds the deliveries.
  } finally {
    pending.delete(pool);
  }
}
