import { hash } from 'node:crypto';
import { v7 } from 'uuid';
import type { Executor, Transaction } from '../platform/db/pool.ts';
import { dayOfUuid7, newUuid7, timeOfUuid7 } from '../platform/lib/uuid7.ts';
import { countMoves } from './deliveries/counts.ts';
import { compileFilter } from './endpoints/filter.ts';
import { tellWorkers } from './outbox-channel.ts';

/** An event that a publisher may receive. */
export type OutboxEvent = {
  publisherId: number;
  /** Name of an event type, such as `usp.selection`. */
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
  /** An endpoint that does not get it, because it is about that endpoint. */
  exceptEndpointId?: number;
  /** The only endpoints that may get it: of an event that is made up for them. */
  onlyEndpointIds?: readonly number[];
};

type Target = {
  id: number;
  publisher_id: number;
  /** Of a default endpoint. */
  event: string | null;
  events: string[];
  enabled: boolean;
  /** JSON of a condition on the payload; null: every event. */
  filter: string | null;
};

type Delivery = { target: Target; source: OutboxEvent; id: string; payload: Buffer };

/**
 * Creates a delivery of each event to each endpoint of the publisher that is configured for it and whose filter lets it
 * through; held where the endpoint is disabled. Must run in the transaction that writes what the event reports: both
 * are written, or neither. Takes many events at once, in two statements. Workers are told after the commit.
 * @returns the ids of the deliveries, UUIDv7
 */
export async function enqueue(executor: Transaction, events: readonly OutboxEvent[]): Promise<string[]> {
  if (events.length === 0) return [];
  const targets = await lockTargets(executor, events);
  const deliveries = events.flatMap((source) => deliveriesOf(source, targets));
  if (deliveries.length > 0) {
    const queued = await insertDeliveries(executor, deliveries);
    if (queued.length > 0) executor.onCommit((pool) => tellWorkers(pool, queued));
  }
  return deliveries.map(({ id }) => id);
}

/** The payload is built where there is an endpoint, and parsed where there is a filter: once. */
function deliveriesOf(source: OutboxEvent, targets: readonly Target[]): Delivery[] {
  const own = targets.filter(
    ({ id, publisher_id, events }) =>
      publisher_id === source.publisherId &&
      events.includes(source.event) &&
      id !== source.exceptEndpointId &&
      source.onlyEndpointIds?.includes(id) !== false,
  );
  if (own.length === 0) return [];
  const payload = source.payload();
  const parsed = own.some(({ filter }) => filter !== null) ? (JSON.parse(payload.toString()) as unknown) : null;
  return own
    .filter(({ filter }) => filter === null || compileFilter(filter)(parsed))
    .map((target) => ({ target, source, id: idOf(source, target), payload }));
}

/** Where a repetition must not create a second delivery, each endpoint has an id of its own, derived from the given. */
function idOf({ id, nowMs }: OutboxEvent, target: Target): string {
  if (id === undefined) return newUuid7(nowMs);
  if (target.event !== null) return id;
  return v7({ msecs: timeOfUuid7(id), random: hash('sha256', `${id} ${target.id}`, 'buffer').subarray(0, 16) });
}

/** The share lock delays every change of an endpoint, so that no delivery misses it. */
async function lockTargets(executor: Executor, events: readonly OutboxEvent[]): Promise<Target[]> {
  const { rows } = await executor.query<Target>({
    name: 'lock_webhook_targets',
    text: `select id, publisher_id, event, coalesce(events, array[event]) as events, enabled, filter::text as filter
from webhook_endpoints
where publisher_id = any($1::integer[]) and (event = any($2::text[]) or events && $2::text[]) and deleted_at is null
order by id for share`,
    values: [distinct(events.map(({ publisherId }) => publisherId)), distinct(events.map(({ event }) => event))],
  });
  return rows;
}

const distinct = <Value>(values: readonly Value[]): Value[] => [...new Set(values)];

/**
 * A payload is sent to the database once, however many endpoints get it. Due at the earlier of both clocks, so that no
 * difference between them delays the first attempt.
 * @returns the endpoints of those that are queued
 */
async function insertDeliveries(executor: Executor, deliveries: readonly Delivery[]): Promise<number[]> {
  const column = <Value>(read: (delivery: Delivery) => Value): Value[] => deliveries.map(read);
  const payloads = distinct(column(({ payload }) => payload));
  const positions = new Map(payloads.map((payload, index) => [payload, index + 1]));
  const { rows } = await executor.query<{ endpoint_id: number }>({
    name: 'insert_deliveries',
    text: `with created as (
  insert into deliveries (
    day, id, publisher_id, endpoint_id, event, session_id, pub_user_id, dev, payload, status, created_at
  )
  select day, id, publisher_id, endpoint_id, event, session_id, pub_user_id, dev, p.payload,
    case when enabled then 'pending' else 'held' end, created_at
  from unnest(
    $1::date[], $2::uuid[], $3::integer[], $4::integer[], $5::text[], $6::uuid[], $7::text[], $8::boolean[],
    $9::integer[], $10::boolean[], $11::timestamptz[]
  ) as d (day, id, publisher_id, endpoint_id, event, session_id, pub_user_id, dev, position, enabled, created_at)
  join unnest($12::bytea[]) with ordinality as p (payload, position) using (position)
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
      column(({ payload }) => positions.get(payload)),
      column(({ target }) => target.enabled),
      column(({ source }) => new Date(source.nowMs)),
      payloads,
    ],
  });
  return rows.map(({ endpoint_id }) => endpoint_id);
}
