import { hash } from 'node:crypto';
import type pg from 'pg';
import { v7 } from 'uuid';
import { unread } from '../platform/db/binary-array.ts';
import type { Executor, Transaction } from '../platform/db/pool.ts';
import { dayOfUuid7, newUuid7, timeOfUuid7 } from '../platform/lib/uuid7.ts';
import { countMoves } from './deliveries/counts.ts';
import { compileFilter } from './endpoints/filter.ts';

/** Event to deliver to a publisher's endpoints. */
export type OutboxEvent = {
  publisherId: number;
  /** Name of the event type, such as `usp.selection`. */
  event: string;
  sessionId: string | null;
  pubUserId: string | null;
  dev: boolean;
  /**
   * Builds the payload as JSON text in UTF-8. Exactly these bytes are stored, signed and sent. The function is called
   * once, and only if an endpoint receives the event. GET calls and macros in endpoint URLs use the payload fields and
   * the custom attributes in its nested object `payload`.
   */
  payload: () => Buffer;
  /** Time of the event, in epoch milliseconds. */
  nowMs: number;
  /** Delivery ID (UUIDv7). Set it if a repeated event must not create a second delivery. Defaults to a new ID. */
  id?: string;
  /** W3C trace context of the operation that causes the event. The delivery attempts join the same trace. */
  traceparent?: string | null;
  /** ID of an endpoint that does not receive the event, because the event is about this endpoint. */
  exceptEndpointId?: number;
  /** IDs of the only endpoints that may receive the event. Absent if there is no such restriction. */
  onlyEndpointIds?: readonly number[];
  /**
   * ID of a row that must exist in the list `causes` of `deliverySql`, if there is one. Otherwise the delivery is not
   * stored.
   */
  causeId?: string;
};

/** Endpoint that may receive events. */
export type Target = {
  id: number;
  publisher_id: number;
  /** Event of a default endpoint, or null for other endpoints. */
  event: string | null;
  events: string[];
  /** Condition on the payload as JSON, or null to receive every event. */
  filter: string | null;
};

/** Delivery that has not been stored yet. */
export type Delivery = { target: Target; source: OutboxEvent; id: string; payload: Buffer };

/**
 * Creates deliveries for events: one for each endpoint of the publisher that is subscribed to the event and whose
 * filter matches. If the endpoint is disabled, the delivery is held. Must run in the transaction that stores the change
 * behind the event, so that either both or neither are stored. Any number of events need only two statements. Workers
 * are notified after the commit.
 * @returns the IDs of the deliveries (UUIDv7)
 */
export async function enqueue(executor: Transaction, events: readonly OutboxEvent[]): Promise<string[]> {
  if (events.length === 0) return [];
  const targets = await readTargets(executor, events);
  const deliveries = events.flatMap((source) => deliveriesOf(source, targets));
  const queued = await insertDeliveries(executor, deliveries);
  executor.onCommit((pool) => notifyWorkers(pool, queued));
  return deliveries.map(({ id }) => id);
}

/**
 * Returns the deliveries of an event, for `deliverySql`. The payload is built only if there is an endpoint, and parsed
 * once if any endpoint has a filter.
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
 * Returns the ID for a delivery. If the event has an ID, the delivery ID is derived from that ID and the endpoint, so
 * that a repeated event does not create a second delivery.
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

/**
 * Returns an SQL expression for the endpoints of a publisher that receive an event, as a JSON list, or null if none
 * exists. It is meant for use within larger statements.
 */
export const targetsSql = (publisherId: string, event: string): string => `(
  select json_agg(target order by target.id) from (
    select ${targetColumns} from webhook_endpoints e
    where e.publisher_id = ${publisherId} and (e.event = '${event}' or '${event}' = any(e.events))
      and e.deleted_at is null
  ) target)`;

const distinct = <Value>(values: readonly Value[]): Value[] => [...new Set(values)];

/**
 * Returns SQL for a `with` list that stores deliveries. Its entry `queued` returns the endpoints that have deliveries
 * to claim now.
 * - An endpoint that was deleted after its row was read gets no delivery. The share lock delays changes to endpoints,
 *   so that they do not miss a delivery.
 * - A payload is sent to the database only once, regardless of how many endpoints receive it.
 * - A delivery is due at the earlier time of both clocks, so that clock differences never delay the first attempt.
 * @param first number of the first parameter; the values come from `deliveryValues`
 * @param causes name of an earlier `with` entry that has a column `id`; a delivery is stored only if its `causeId` is
 * among these IDs
 */
export const deliverySql = (first: number, causes?: string): string => {
  const types = [
    ...['date[]', 'uuid[]', 'integer[]', 'integer[]', 'text[]', 'uuid[]', 'text[]', 'boolean[]', 'integer[]'],
    ...['timestamptz[]', 'uuid[]', 'text[]', 'bytea[]'],
  ];
  const parameters = types.map((type, index) => `$${first + index}::${type}`);
  // Counting the rows forces PostgreSQL to evaluate `causes` before it takes the lock, regardless of the plan.
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

/** Returns the parameter values of `deliverySql`, in order. */
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

/**
 * Inserts deliveries in the transaction that stores their cause.
 * @returns the endpoints that have deliveries to claim now
 */
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
 * NOTIFY channel that wakes the workers after the commit of a transaction that queues deliveries. The payload is a list
 * of endpoint IDs separated by spaces. If it is empty, workers scan the queue.
 */
export const outboxChannel = 'perkwire_outbox';

/**
 * Maximum length of a notification payload, in characters (PostgreSQL allows 8,000 bytes). Endpoints that do not fit
 * are found by the next scan.
 */
const maxPayloadLength = 7000;

/** Notifies all workers to scan the queue. */
export async function wakeWorkers(executor: Executor): Promise<void> {
  await executor.query("select pg_notify($1, '')", [outboxChannel]);
}

/**
 * Parses the endpoint IDs in a notification payload. Any client with database access can send a notification, so
 * invalid IDs are ignored.
 */
export const endpointIdsOf = (payload: string): number[] => payload.split(' ').map(Number).filter(isEndpointId);

const isEndpointId = (value: number): boolean => Number.isInteger(value) && value > 0 && value < 2 ** 31;

/** Worker in this process, which is notified of new deliveries by a direct call. */
export type LocalWorker = {
  /** Whether the worker is running and no other worker exists. */
  isAlone: () => boolean;
  /** Called with the endpoints that have deliveries to claim. */
  arrived: (endpointIds: readonly number[]) => void;
};

const localWorkers = new WeakMap<pg.Pool, LocalWorker>();

/** Registers the worker that runs in the process of a pool, or removes it if `worker` is null. */
export function setLocalWorker(pool: pg.Pool, worker: LocalWorker | null): void {
  if (worker === null) localWorkers.delete(pool);
  else localWorkers.set(pool, worker);
}

/**
 * IDs of endpoints of which workers still have to be notified, by pool. An entry exists only while a notification is
 * being sent.
 */
const pending = new WeakMap<pg.Pool, Set<number>>();

/**
 * Notifies workers about endpoints that have deliveries to claim. Call it after the commit. IDs that arrive while a
 * notification is being sent are included in the next one. Because a transaction with NOTIFY blocks the commits of
 * other such transactions in the whole cluster, this transaction contains nothing else and does not wait for the disk.
 * If a notification is lost, the next scan finds the deliveries within a second.
 *
 * If the only worker runs in this process, it is called directly, which saves a round trip and a claim. A worker that
 * has just started scans the queue, so it needs no notification.
 */
export function notifyWorkers(pool: pg.Pool, endpointIds: readonly number[]): void {
  if (endpointIds.length === 0) return;
  const local = localWorkers.get(pool);
  if (local?.isAlone() === true) {
    local.arrived(endpointIds);
    return;
  }
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
    // Ignore the error, because the next scan will find the deliveries.
  } finally {
    pending.delete(pool);
  }
}
