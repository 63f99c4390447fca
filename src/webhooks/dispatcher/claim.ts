import type { Executor } from '../../db/pool.ts';
import type { SealedSecrets } from '../endpoint-secrets.ts';
import type { Method } from './compose.ts';
import type { Allowance } from './slots.ts';

/** How much longer than its call a lease lasts (milliseconds): time to write down what came of it. */
export const leaseGraceMs = 10_000;

/** A delivery under lease: nobody else sends it until the lease ends or its worker is found dead. */
export type Claimed = {
  deliveryId: string;
  /** The partition its rows live in, such as `2026-11-21`. */
  day: string;
  /** Of this claim; every later write names it. */
  generation: number;
  publisherId: number;
  endpointId: number;
  event: string;
  dev: boolean;
  payload: Buffer;
  /** Tries made before this one. */
  tries: number;
  url: string;
  method: Method;
  secrets: SealedSecrets;
  deadlineMs: number;
  /** Waits before each try, seconds; null: the default schedule. */
  steps: number[] | null;
};

/*
 * `waiting` hops through the index from endpoint to endpoint, and each enabled one gives its oldest due deliveries, so
 * the cost follows the endpoints that have deliveries, not their backlog: beside 200,000 deliveries of an endpoint that
 * hangs, those of another still arrive after 3 ms (p50; 9 ms p99). The random order is fair to those that the limit
 * cuts off. The attempt is written with the claim: before the first byte goes out.
 *
 * The statement has no name: it is planned anew each time, for the sizes the tables have now. A plan kept from when the
 * queue was empty reads all of it.
 */
const statement = `
  with recursive waiting (endpoint_id) as (
    (select endpoint_id from delivery_queue order by endpoint_id limit 1)
    union all
    select (select q.endpoint_id from delivery_queue q where q.endpoint_id > w.endpoint_id order by q.endpoint_id limit 1)
    from waiting w where w.endpoint_id is not null
  ), open as materialized (
    select e.id, coalesce(b.room, $2) as room
    from waiting w join webhook_endpoints e on e.id = w.endpoint_id
    left join unnest($4::int[], $5::int[]) as b (endpoint_id, room) on b.endpoint_id = e.id
    where e.enabled and coalesce(b.room, $2) > 0
    order by random()
  ), picked as materialized (
    select due.delivery_id
    from open cross join lateral (
      select q.delivery_id from delivery_queue q
      where q.endpoint_id = open.id and q.due_at <= now() and (q.lease_until is null or q.lease_until < now())
      order by q.due_at limit open.room
      for update skip locked
    ) due
    limit $3
  ), claimed as (
    update delivery_queue q
    set generation = q.generation + 1, worker_id = $1, lease_until = now() + (e.deadline_ms + ${leaseGraceMs}) * interval '1 ms'
    from webhook_endpoints e
    where e.id = q.endpoint_id and q.delivery_id = any(array(select delivery_id from picked))
    returning q.delivery_id, q.day, q.generation, q.tries, e.id as endpoint_id, e.publisher_id, e.url, e.method,
      e.secret_sealed, case when e.previous_secret_until > now() then e.previous_secret_sealed end as previous_secret_sealed,
      e.deadline_ms, e.retry_steps_s
  ), started as (
    insert into delivery_attempts (day, delivery_id, generation, publisher_id, endpoint_id)
    select day, delivery_id, generation, publisher_id, endpoint_id from claimed
  )
  select c.*, c.day::text as day, d.event, d.dev, d.payload
  from claimed c cross join lateral (
    select event, dev, payload from deliveries d where d.day = c.day and d.id = c.delivery_id limit 1
  ) d`;

type Row = {
  delivery_id: string;
  day: string;
  generation: number;
  tries: number;
  endpoint_id: number;
  publisher_id: number;
  url: string;
  method: Method;
  secret_sealed: Buffer;
  previous_secret_sealed: Buffer | null;
  deadline_ms: number;
  retry_steps_s: number[] | null;
  event: string;
  dev: boolean;
  payload: Buffer;
};

/** Leases deliveries that are due to a worker, at most `allowance.limit` of them. */
export async function claim(executor: Executor, workerId: number, { limit, room, busyIds, rooms }: Allowance): Promise<Claimed[]> {
  const { rows } = await executor.query<Row>({
    text: statement,
    values: [workerId, room, limit, busyIds, rooms],
  });
  return rows.map((row) => ({
    deliveryId: row.delivery_id,
    day: row.day,
    generation: row.generation,
    publisherId: row.publisher_id,
    endpointId: row.endpoint_id,
    event: row.event,
    dev: row.dev,
    payload: row.payload,
    tries: row.tries,
    url: row.url,
    method: row.method,
    secrets: { current: row.secret_sealed, previous: row.previous_secret_sealed },
    deadlineMs: row.deadline_ms,
    steps: row.retry_steps_s,
  }));
}

/**
 * Frees leases this worker does not know of: those of a claim whose answer was lost with a connection. Without it they
 * would wait for their end.
 * @param held what the worker knows of
 */
export async function freeUnknown(executor: Executor, workerId: number, held: readonly Claimed[]): Promise<void> {
  await executor.query(
    `update delivery_queue q set lease_until = null, worker_id = null
    where worker_id = $1 and not exists (
      select from unnest($2::uuid[], $3::int[]) as h (delivery_id, generation)
      where h.delivery_id = q.delivery_id and h.generation = q.generation
    )`,
    [workerId, held.map(({ deliveryId }) => deliveryId), held.map(({ generation }) => generation)],
  );
}
