import { hash } from 'node:crypto';
import type pg from 'pg';
import { v7 } from 'uuid';
import { unread } from '../platform/db/binary-array.ts';
import type { Executor, Transaction } from '../platform/db/pool.ts';
import { dayOfUuid7, newUuid7, timeOfUuid7 } from '../platform/lib/uuid7.ts';
import { countMoves } from './deliveries/counts.ts';
import { compileFilter } from './endpoints/filter.ts';

/** An event that a publisher may receive. */
export type OutboxEvent = {
  publisherId: number;
  /** Name of an event type, such as `usp.selection`. */
  event: string;
  sessionId: string | null;
  pubUserId: string | null;
  dev: boolean;
  /**
   * Builds the JSON text in UTF-8; these bytes are stored, signed and sent. It is called once for an event with an
   * endpoint. GET calls and macros in the endpoint's URL read its fields, and custom keys in its object `payload`.
   */
  payload: () => Buffer;
  /** Epoch milliseconds. */
  nowMs: number;
  /** Id of the delivery (UUIDv7), if a repetition must not create a second one. The default is a new id. */
  id?: string;
  /** W3C trace context of the operation that causes it; its attempts belong to the same trace. */
  traceparent?: string | null;
  /** Endpoint that does not receive the event, because the event is about it. */
  exceptEndpointId?: number;
  /** Endpoints that may receive the event, if it was made for them. */
  onlyEndpointIds?: readonly number[];
  /** Id of the row that must exist for a delivery, if `deliverySql` has such rows. */
  causeId?: string;
};

/** An endpoint that receives events. */
export type Target = {
  id: number;
  publisher_id: number;
  /** Event of a default endpoint. */
  event: string | null;
  events: string[];
  /** JSON of a condition on the payload, or null for every event. */
  filter: string | null;
};

/** A delivery that is not stored yet. */
export type Delivery = { target: Target; source: OutboxEvent; id: string; payload: Buffer };

/**
 * Creates a delivery of each event to each endpoint of the publisher that is configured for it and whose filter
 * matches; the delivery is held if the endpoint is disabled. Must run in the transaction that writes the fact behind
 * the event, so that both are written or neither. Takes many events at once, in two statements. Workers are notified
 * after the commit.
 * @returns the ids of the deliveries, UUIDv7
 */
export async function enqueue(executor: Transaction, events: readonly OutboxEvent[]): Promise<string[]> {
  if (events.length === 0) return [];
  const targets = await readTargets(executor, events);
  const deliveries = events.flatMap((source) => deliveriesOf(source, targets));
  const queued = await insertDeliveries(executor, deliveries);
  executor.onCommit((pool) => tellWorkers(pool, queued));
  return deliveries.map(({ id }) => id);
}

/**
 * Returns the deliveries that an event causes, for `deliverySql`. The payload is built only if there is an endpoint,
 * and parsed once if there is a filter.
 */
export function deliveriesOf(source: OutboxEvent, targets: readonly Target[]): Delivery[] {
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

/**
 * Returns the id of a delivery. If a repetition must not create a second one, the id is derived from the given id and
 * the endpoint.
 */
function idOf({ id, nowMs }: OutboxEvent, target: Target): string {
  if (id === undefined) return newUuid7(nowMs);
  if (target.event !== null) return id;
  return v7({ msecs: timeOfUuid7(id), random: hash('sha256', `${id} ${target.id}`, 'buffer').subarray(0, 16) });
}

async function readTargets(executor: Executor, events: readonly OutboxEvent[]): Promise<Target[]> {
  const { rows } = await executor.query<Target>({
    name: 'read_webhook_targets',
    text: `select ${targetColumns}
from webhook_endpoints
where publisher_id = any(${unread('$1::integer[]')}::integer[])
  and (event = any($2::text[]) or events && $2::text[]) and deleted_at is null
order by id`,
    values: [distinct(events.map(({ publisherId }) => publisherId)), distinct(events.map(({ event }) => event))],
  });
  return rows;
}

const targetColumns = 'id, publisher_id, event, coalesce(events, array[event]) as events, filter::text as filter';

/** SQL of a publisher's targets for an event, as a JSON list or null, for use in a larger statement. */
export const targetsSql = (publisherId: string, event: string): string => `(
  select json_agg(target order by target.id) from (
    select ${targetColumns} from webhook_endpoints e
    where e.publisher_id = ${publisherId} and (e.event = '${event}' or '${event}' = any(e.events))
      and e.deleted_at is null
  ) target)`;

const distinct = <Value>(values: readonly Value[]): Value[] => [...new Set(values)];

/**
 * SQL of a `with` list that stores deliveries; `queued` has the endpoints with deliveries to claim now. An endpoint
 * that was deleted since its targets were read gets none; the share lock delays changes of endpoints, so that no
 * delivery misses one. A payload is sent to the database once, however many endpoints receive it. A delivery is due at
 * the earlier of both clocks, so that a difference between them never delays the first attempt.
 * @param first number of the first parameter; the values are `deliveryValues`
 * @param causes name of an earlier list with the column `id`: a delivery is stored if its `causeId` is in it
 */
export const deliverySql = (first: number, causes?: string): string => {
  const types = [
    ...['date[]', 'uuid[]', 'integer[]', 'integer[]', 'text[]', 'uuid[]', 'text[]', 'boolean[]', 'integer[]'],
    ...['timestamptz[]', 'uuid[]', 'text[]', 'bytea[]'],
  ];
  const parameters = types.map((type, index) => `$${first + index}::${type}`);
  // Counting makes PostgreSQL compute `causes` before the lock, in any plan.
  const isCaused = causes === undefined ? '' : `and (select count(*) from ${causes}) > 0`;
  return `locked as materialized (
  select id, enabled from webhook_endpoints
  where id = any(${parameters[3]}) and deleted_at is null ${isCaused}
  order by id for share
), created as (
  insert into deliveries (
    day, id, publisher_id, endpoint_id, event, session_id, pub_user_id, dev, traceparent, payload, status,
    created_at
  )
  select d.day, d.id, d.publisher_id, d.endpoint_id, d.event, d.session_id, d.pub_user_id, d.dev,
    d.traceparent, p.payload,
    case when locked.enabled then 'pending' else 'held' end, d.created_at
  from unnest(${parameters.slice(0, 12).join(', ')})
    as d (day, id, publisher_id, endpoint_id, event, session_id, pub_user_id, dev, position, created_at, cause_id,
      traceparent)
  join unnest(${parameters[12]}) with ordinality as p (payload, position) using (position)
  join locked on locked.id = d.endpoint_id
  ${causes === undefined ? '' : `where d.cause_id in (select id from ${causes})`}
  on conflict (day, id) do nothing
  returning id, day, publisher_id, endpoint_id, status, created_at
), queued as (
  insert into delivery_queue (delivery_id, day, endpoint_id, due_at)
  select id, day, endpoint_id, least(now(), created_at) from created where status = 'pending'
  returning endpoint_id
), counted as (
  ${countMoves('select publisher_id, day, null as was, status as became from created')}
)`;
};

/** Values of `deliverySql`, in order. */
export function deliveryValues(deliveries: readonly Delivery[]): unknown[] {
  const column = <Value>(read: (delivery: Delivery) => Value): Value[] => deliveries.map(read);
  const payloads = distinct(column(({ payload }) => payload));
  const positions = new Map(payloads.map((payload, index) => [payload, index + 1]));
  return [
    column(({ id }) => dayOfUuid7(id)),
    column(({ id }) => id),
    column(({ source }) => source.publisherId),
    column(({ target }) => target.id),
    column(({ source }) => source.event),
    column(({ source }) => source.sessionId),
    column(({ source }) => source.pubUserId),
    column(({ source }) => source.dev),
    column(({ payload }) => positions.get(payload)),
    column(({ source }) => new Date(source.nowMs)),
    column(({ source }) => source.causeId ?? null),
    column(({ source }) => source.traceparent ?? null),
    payloads,
  ];
}

const insertStatement = `with ${deliverySql(1)} select distinct endpoint_id from queued`;

/** Stores deliveries in the transaction of their cause. @returns the endpoints with deliveries to claim now */
export async function insertDeliveries(executor: Executor, deliveries: readonly Delivery[]): Promise<number[]> {
  if (deliveries.length === 0) return [];
  const { rows } = await executor.query<{ endpoint_id: number }>({
    name: 'insert_deliveries',
    text: insertStatement,
    values: deliveryValues(deliveries),
  });
  return rows.map(({ endpoint_id }) => endpoint_id);
}

/**
 * NOTIFY channel that wakes the workers, sent after the commit that queues deliveries. The payload lists endpoint ids,
 * separated by blanks; an empty payload makes workers scan the queue.
 */
export const outboxChannel = 'perkwire_outbox';

/**
 * Maximum length of a payload in characters (PostgreSQL allows 8,000 bytes). The next scan finds endpoints that were
 * cut off.
 */
const maxPayloadLength = 7000;

/** Makes all workers scan the queue. */
export async function wakeWorkers(executor: Executor): Promise<void> {
  await executor.query("select pg_notify($1, '')", [outboxChannel]);
}

/**
 * Reads the endpoint ids in a payload. Anyone with access to the database can send one, so everything else is ignored.
 */
export const endpointIdsOf = (payload: string): number[] => payload.split(' ').map(Number).filter(isEndpointId);

const isEndpointId = (value: number): boolean => Number.isInteger(value) && value > 0 && value < 2 ** 31;

/** Endpoints to notify workers about, by pool; present while a notification is being sent. */
const pending = new WeakMap<pg.Pool, Set<number>>();

/**
 * Notifies workers, after the commit, of endpoints that have deliveries to claim. Ids that arrive during a notification
 * go with the next one. A transaction that notifies blocks other such commits in the whole cluster, so this one
 * contains nothing else and does not wait for the disk. A lost notification costs the time to the next scan, at most a
 * second.
 */
export function tellWorkers(pool: pg.Pool, endpointIds: readonly number[]): void {
  if (endpointIds.length === 0) return;
  const underWay = pending.get(pool);
  const ids = underWay ?? new Set<number>();
  for (const id of endpointIds) ids.add(id);
  if (underWay !== undefined) return;
  pending.set(pool, ids);
  void notifyPending(pool, ids);
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
    // The next scan will find the deliveries.
  } finally {
    pending.delete(pool);
  }
}
