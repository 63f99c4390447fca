import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';
import { countMoves } from '../deliveries/counts.ts';
import { pullUrl } from '../destinations/kinds.ts';
import { claimedColumns, claimedOf, type WholeRow } from '../dispatcher/claim/claim.ts';
import type { Claimed, Standing } from '../dispatcher/claim/claimed.ts';
import { interruptedColumns } from '../dispatcher/leases.ts';

/*
 * Workers never call a pull endpoint. Instead, consumers pull its events (docs/guides/destinations.md#pull). An event
 * gets its position when it is first returned, under the lock of the endpoint's cursor. Positions thus follow the order
 * in which events became visible: an event of a slow transaction gets a later position, and is never skipped. An event
 * stays in the queue until a call acknowledges its position.
 */

/** Maximum number of events per call. */
export const maxPulled = 500;
/** Total size of payloads at which a page is full, in bytes. */
const maxPageBytes = 4_000_000;

/** Turns a new endpoint into a pull endpoint. */
export async function startPull(executor: Executor, endpointId: number): Promise<void> {
  await executor.query('insert into pull_cursors (endpoint_id) values ($1) on conflict do nothing', [endpointId]);
}

/** Returned event, with its position. */
export type PulledEvent = { claimed: Claimed; position: number };

/**
 * Page of events, with the number of events that the call acknowledged. `isStale` tells whether the endpoint's health
 * must be updated.
 */
export type PulledPage = { events: PulledEvent[]; acknowledged: number; isStale: boolean };

export type PullRequest = {
  publisherId: number;
  endpointId: number;
  /** Position up to which events are acknowledged, or null to acknowledge none. */
  after: number | null;
  limit: number;
};

/**
 * Acknowledges the events up to a position, and returns the next events. Calls for the same endpoint run one after the
 * other.
 * @throws AppError `endpoint_not_found`; `endpoint_disabled`; `invalid_request` if the position was never handed out
 */
export const pullEvents = (
  pool: pg.Pool,
  { publisherId, endpointId, after, limit }: PullRequest,
): Promise<PulledPage> =>
  transaction(pool, async (executor) => {
    const cursor = await lockCursor(executor, publisherId, endpointId);
    if (!cursor.enabled) throw new AppError('endpoint_disabled');
    if (after !== null && after > cursor.position) throw invalidCursor();
    const isNew = after !== null && after > cursor.acknowledged;
    const acknowledged = isNew ? await acknowledge(executor, endpointId, after) : 0;
    if (isNew) await advance(executor, endpointId, after);
    if (cursor.isPaused) return { events: [], acknowledged, isStale: cursor.isStale };
    await handOut(executor, endpointId, limit);
    return { events: await readHandedOut(executor, endpointId, limit), acknowledged, isStale: cursor.isStale };
  });

export const invalidCursor = (): AppError =>
  new AppError('invalid_request', { details: [{ path: '/after', message: problem('pullCursor') }] });

type Cursor = { position: number; acknowledged: number; enabled: boolean; isPaused: boolean; isStale: boolean };

async function lockCursor(executor: Executor, publisherId: number, endpointId: number): Promise<Cursor> {
  const { rows } = await executor.query<Cursor>(
    `select c.position::float8 as position, c.acknowledged::float8 as acknowledged, e.enabled,
      e.paused_at is not null as "isPaused",
      h.failures > 0 or h.last_success_at is null or h.last_success_at < now() - interval '1 min' as "isStale"
    from pull_cursors c join webhook_endpoints e on e.id = c.endpoint_id
    join endpoint_health h on h.endpoint_id = e.id
    where c.endpoint_id = $1 and e.publisher_id = $2 and e.url = '${pullUrl}' and e.deleted_at is null
    for update of c`,
    [endpointId, publisherId],
  );
  if (rows[0] === undefined) throw new AppError('endpoint_not_found', { message: problem('pullUnknown') });
  return rows[0];
}

/**
 * Removes acknowledged events from the queue, marks their deliveries as delivered and logs their attempts, which are
 * logged once, with their outcome.
 * @returns the number of events
 */
async function acknowledge(executor: Executor, endpointId: number, position: number): Promise<number> {
  const { rows } = await executor.query<{ count: number }>(
    `with acknowledged as materialized (
      select ${interruptedColumns}, attempts from delivery_queue
      where endpoint_id = $1 and pull_position <= $2 order by delivery_id for update
    ), removed as (
      delete from delivery_queue where delivery_id = any(array(select delivery_id from acknowledged))
    ), recorded as (
      insert into delivery_attempts (
        day, delivery_id, generation, publisher_id, endpoint_id, started_at, finished_at, outcome
      )
      select k.day, k.delivery_id, k.generation, e.publisher_id, e.id, coalesce(k.claimed_at, now()), now(),
        'delivered'
      from acknowledged k join webhook_endpoints e on e.id = k.endpoint_id
    ), updated as (
      update deliveries d set status = 'delivered', attempts = k.attempts + 1, finished_at = now()
      from acknowledged k
      where d.day = any(array(select distinct day from acknowledged)) and d.day = k.day and d.id = k.delivery_id
      returning d.publisher_id, d.day
    ), counted as (
      ${countMoves("select publisher_id, day, 'pending' as was, 'delivered' as became from updated")}
    )
    select count(*)::int as count from acknowledged`,
    [endpointId, position],
  );
  return rows[0]?.count ?? 0;
}

const advance = (executor: Executor, endpointId: number, position: number) =>
  executor.query('update pull_cursors set acknowledged = $2, acknowledged_at = now() where endpoint_id = $1', [
    endpointId,
    position,
  ]);

/**
 * Assigns positions to the next events until the page is full, and starts an attempt for each. Skips locked rows,
 * because they are being removed. If they remain after all, the next call assigns their positions.
 */
async function handOut(executor: Executor, endpointId: number, limit: number): Promise<void> {
  const inLane = (lane: string): string => `(select delivery_id, due_at, position from delivery_queue
      where lane = '${lane}' and endpoint_id = $1 and pull_position is null and due_at <= now()
      order by due_at, position limit (select room from page))`;
  await executor.query(
    `with page as materialized (
      select greatest(0, $2 - count(*)) as room from (
        select from delivery_queue where endpoint_id = $1 and pull_position is not null limit $2
      ) waiting
    ), due as materialized (
      select delivery_id from (${inLane('live')} union all ${inLane('redelivery')}) q
      order by due_at, position limit (select room from page)
    ), free as materialized (
      select q.delivery_id, row_number() over (order by q.due_at, q.position) as place from (
        select delivery_id, due_at, position from delivery_queue
        where delivery_id = any(array(select delivery_id from due)) and pull_position is null
        for update skip locked
      ) q
    ), numbered as (
      update delivery_queue q set pull_position = c.position + f.place, generation = q.generation + 1,
        claimed_at = now()
      from free f, pull_cursors c where q.delivery_id = f.delivery_id and c.endpoint_id = $1
      returning q.delivery_id
    )
    update pull_cursors set position = position + (select count(*) from numbered)
    where endpoint_id = $1 and exists (select from numbered)`,
    [endpointId, limit],
  );
}

type PulledRow = WholeRow & { endpoint_id: number; standing: Standing; room: number; pull_position: number };

/** Reads the events that were returned but not acknowledged, in order, up to the maximum size of a page. */
async function readHandedOut(executor: Executor, endpointId: number, limit: number): Promise<PulledEvent[]> {
  const { rows } = await executor.query<PulledRow>(
    `select * from (
      select ${claimedColumns}, e.id as endpoint_id, 'tried' as standing, k.pull_position::float8 as pull_position,
        d.event, d.dev, d.payload, d.traceparent,
        sum(octet_length(d.payload)) over (order by k.pull_position) - octet_length(d.payload) as bytes_before
      from (
        select * from delivery_queue where endpoint_id = $1 and pull_position is not null
        order by pull_position limit $2
      ) k
      join webhook_endpoints e on e.id = k.endpoint_id join endpoint_health h on h.endpoint_id = e.id
      cross join lateral (select * from deliveries d where d.day = k.day and d.id = k.delivery_id limit 1) d
    ) page where bytes_before < ${maxPageBytes} order by pull_position`,
    [endpointId, limit],
  );
  return rows.map((row) => ({ claimed: claimedOf(row), position: row.pull_position }));
}

/** Returns the IDs of a publisher's pull endpoints. */
export async function pullEndpointIds(executor: Executor, publisherId: number): Promise<number[]> {
  const { rows } = await executor.query<{ id: number }>(
    `select id from webhook_endpoints
    where publisher_id = $1 and url = '${pullUrl}' and deleted_at is null order by id`,
    [publisherId],
  );
  return rows.map(({ id }) => id);
}
