import type { Executor } from '../platform/db/pool.ts';

/**
 * NOTIFY channel that wakes the workers, sent with the commit that queues deliveries. The payload names endpoints by
 * their ids, separated by blanks; without any, workers scan the queue.
 */
export const outboxChannel = 'perkwire_outbox';

/** Characters of a payload (PostgreSQL: 8,000 bytes). Ids cut off are found by the next scan. */
export const maxPayloadLength = 7000;

/** Makes all workers scan the queue. */
export async function wakeWorkers(executor: Executor): Promise<void> {
  await executor.query("select pg_notify($1, '')", [outboxChannel]);
}

/** The endpoint ids in a payload; everyone with access to the database can send one, so anything else is ignored. */
export const endpointIdsOf = (payload: string): number[] => payload.split(' ').map(Number).filter(isEndpointId);

const isEndpointId = (value: number): boolean => Number.isInteger(value) && value > 0 && value < 2 ** 31;
