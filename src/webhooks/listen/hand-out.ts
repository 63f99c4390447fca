import type { Executor } from '../../platform/db/pool.ts';
import { isListener } from '../destinations/kinds.ts';
import { claimedColumns, claimedOf, type WholeRow } from '../dispatcher/claim/claim.ts';
import type { Claimed, Standing } from '../dispatcher/claim/claimed.ts';
import { leaseGraceMs } from '../dispatcher/leases.ts';

/** Delivery that was sent to a listener. Its request is rebuilt byte for byte when the response is recorded. */
export type HandedOut = { claimed: Claimed; startedAt: Date };

/** Minimum time between updates of a listener's last-seen time, in seconds. */
const noteEveryS = 30;

/*
 * $1 listener · $2 publisher
 *
 * The lease names no worker: it ends at its time, and the delivery is handed out again.
 */
const handOutStatement = `
  with listener as materialized (
    select e.id, e.publisher_id, e.deadline_ms, greatest(0, e.max_in_flight - (
      select count(*) from delivery_queue q
      where q.lane = any(array['live', 'redelivery']) and q.endpoint_id = e.id and q.lease_until > now()
    )) as room
    from webhook_endpoints e
    where e.id = $1 and e.publisher_id = $2 and ${isListener} and e.enabled
      and e.paused_at is null and e.deleted_at is null
  ), noted as (
    update endpoint_health set listened_at = now()
    where endpoint_id = (select id from listener)
      and (listened_at is null or listened_at < now() - interval '${noteEveryS} s')
  ), picked as materialized (
    select q.delivery_id from delivery_queue q
    where q.lane = any(array['live', 'redelivery']) and q.endpoint_id = (select id from listener)
      and q.due_at <= now() and (q.lease_until is null or q.lease_until < now())
    order by q.due_at limit coalesce((select room from listener), 0) for update skip locked
  ), claimed as (
    update delivery_queue q
    set generation = q.generation + 1, worker_id = null, claimed_at = now(),
      lease_until = now() + (l.deadline_ms + ${leaseGraceMs}) * interval '1 ms'
    from picked p, listener l where q.delivery_id = p.delivery_id
    returning q.delivery_id, q.day, q.generation, q.attempts, q.due_at, q.endpoint_id
  ), started as (
    insert into delivery_attempts (day, delivery_id, generation, publisher_id, endpoint_id)
    select k.day, k.delivery_id, k.generation, l.publisher_id, l.id from claimed k cross join listener l
  )
  select ${claimedColumns}, e.id as endpoint_id, 'tried' as standing, now() as started_at, d.event, d.dev, d.payload,
    d.traceparent
  from listener l join webhook_endpoints e on e.id = l.id join endpoint_health h on h.endpoint_id = e.id
  left join claimed k on true
  left join lateral (select * from deliveries d where d.day = k.day and d.id = k.delivery_id limit 1) d on true`;

/* $1 listener · $2 publisher · $3 delivery · $4 day · $5 attempt */
const findStatement = `
  select ${claimedColumns}, e.id as endpoint_id, 'tried' as standing, a.started_at, d.event, d.dev, d.payload,
    d.traceparent
  from delivery_queue k join webhook_endpoints e on e.id = k.endpoint_id
  join endpoint_health h on h.endpoint_id = e.id
  join delivery_attempts a on a.day = k.day and a.delivery_id = k.delivery_id and a.generation = k.generation
  join deliveries d on d.day = k.day and d.id = k.delivery_id
  where e.id = $1 and e.publisher_id = $2 and ${isListener} and k.delivery_id = $3::uuid
    and k.day = $4::date
    and a.day = $4::date and d.day = $4::date and k.generation = $5 and k.lease_until is not null`;

type HandedOutRow = WholeRow & { endpoint_id: number; standing: Standing; room: number; started_at: Date };

const handedOutOf = (row: HandedOutRow): HandedOut => ({ claimed: claimedOf(row), startedAt: row.started_at });

/**
 * Leases due deliveries to a listener, up to its concurrency limit.
 * @returns null if the listener does not exist
 */
export async function handOut(
  executor: Executor,
  publisherId: number,
  listenerId: number,
): Promise<HandedOut[] | null> {
  const { rows } = await executor.query<HandedOutRow>(handOutStatement, [listenerId, publisherId]);
  if (rows.length === 0) return null;
  return rows.filter(({ delivery_id: id, payload }) => id !== null && payload !== null).map(handedOutOf);
}

export type HandedOutKey = { publisherId: number; listenerId: number; id: string; day: string; attempt: number };

/**
 * Returns a delivery that is leased to a listener. Returns null if its response was already recorded or its lease was
 * taken over.
 */
export async function findHandedOut(executor: Executor, key: HandedOutKey): Promise<HandedOut | null> {
  const { publisherId, listenerId, id, day, attempt } = key;
  const { rows } = await executor.query<HandedOutRow>(findStatement, [listenerId, publisherId, id, day, attempt]);
  return rows[0] === undefined ? null : handedOutOf(rows[0]);
}
