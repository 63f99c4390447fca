import type { Executor, Transaction } from '../platform/db/pool.ts';
import { dayOfUuid7, newUuid7 } from '../platform/lib/uuid7.ts';
import { countMoves } from './deliveries/counts.ts';
import { tellWorkers } from './outbox-channel.ts';

/** An event that a publisher may receive. */
export type OutboxEvent = {
  publisherId: number;
  /** Event of `webhook_endpoints`, such as `usp.selection`. */
  event: string;
  sessionId: string | null;
  pubUserId: string | null;
  dev: boolean;
  /**
   * Builds the JSON text in UTF-8; these bytes are stored, signed and sent. Called once for an event that has an
   * endpoint. GET calls and macros in the endpoint's URL read its fields, and custom keys in an object named `payload`.
   */
  payload: () => Buffer;
  /** Epoch milliseconds. */
  nowMs: number;
  /** Id of the delivery (UUIDv7), where a repetition must not create a second one; default: a new one. */
  id?: string;
};

type Target = { id: number; publisher_id: number; event: string; enabled: boolean };

type Delivery = { target: Target; source: OutboxEvent; id: string; payload: Buffer };

/**
 * Creates a delivery of each event to each endpoint that the publisher has configured for it; held where the endpoint
 * is disabled. Must run in the transaction that writes what the event reports: both are written, or neither. Takes many
 * events at once, in two statements. Workers are told after the commit.
 * @returns the ids of the deliveries, UUIDv7
 */
export async function enqueue(executor: Transaction, events: readonly OutboxEvent[]): Promise<string[]> {
  if (events.length === 0) return [];
  const targets = await lockTargets(executor, events);
  const deliveries = events.flatMap((source) => {
    const own = targets.filter((target) => target.publisher_id === source.publisherId && target.event === source.event);
    if (own.length === 0) return [];
    const payload = source.payload();
    return own.map((target) => ({ target, source, id: source.id ?? newUuid7(source.nowMs), payload }));
  });
  if (deliveries.length > 0) {
    const queued = await insertDeliveries(executor, deliveries);
    if (queued.length > 0) executor.onCommit((pool) => tellWorkers(pool, queued));
  }
  return deliveries.map(({ id }) => id);
}

/** The share lock delays enabling and disabling an endpoint, so that no delivery misses the change. */
async function lockTargets(executor: Executor, events: readonly OutboxEvent[]): Promise<Target[]> {
  const { rows } = await executor.query<Target>({
    name: 'lock_webhook_targets',
    text: `select id, publisher_id, event, enabled from webhook_endpoints
where (publisher_id, event) in (select * from unnest($1::integer[], $2::text[])) and deleted_at is null
order by id for share`,
    values: [events.map(({ publisherId }) => publisherId), events.map(({ event }) => event)],
  });
  return rows;
}

/**
 * Due at the earlier of both clocks, so that no difference between them delays the first attempt.
 * @returns the endpoints of those that are queued
 */
async function insertDeliveries(executor: Executor, deliveries: readonly Delivery[]): Promise<number[]> {
  const column = <Value>(read: (delivery: Delivery) => Value): Value[] => deliveries.map(read);
  const { rows } = await executor.query<{ endpoint_id: number }>({
    name: 'insert_deliveries',
    text: `with created as (
  insert into deliveries (
    day, id, publisher_id, endpoint_id, event, session_id, pub_user_id, dev, payload, status, created_at
  )
  select day, id, publisher_id, endpoint_id, event, session_id, pub_user_id, dev, payload,
    case when enabled then 'pending' else 'held' end, created_at
  from unnest(
    $1::date[], $2::uuid[], $3::integer[], $4::integer[], $5::text[], $6::uuid[], $7::text[], $8::boolean[],
    $9::bytea[], $10::boolean[], $11::timestamptz[]
  ) as d (day, id, publisher_id, endpoint_id, event, session_id, pub_user_id, dev, payload, enabled, created_at)
  on conflict (day, id) do nothing
  returning id, day, publisher_id, endpoint_id, status, created_at
), queued as (
  insert into delivery_queue (delivery_id, day, endpoint_id, due_at)
  select id, day, endpoint_id, least(now(), created_at) from created where status = 'pending'
  returning endpoint_id
), counted as (
  ${countMoves('select publisher_id, day, null as was, status as became from created')}
)
select distinct endpoint_id from queued`,
    values: [
      column(({ id }) => dayOfUuid7(id)),
      column(({ id }) => id),
      column(({ source }) => source.publisherId),
      column(({ target }) => target.id),
      column(({ source }) => source.event),
      column(({ source }) => source.sessionId),
      column(({ source }) => source.pubUserId),
      column(({ source }) => source.dev),
      column(({ payload }) => payload),
      column(({ target }) => target.enabled),
      column(({ source }) => new Date(source.nowMs)),
    ],
  });
  return rows.map(({ endpoint_id }) => endpoint_id);
}
