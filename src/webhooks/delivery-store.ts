import type { Executor } from '../platform/db/pool.ts';
import { dayOf } from '../platform/lib/time.ts';
import { dayOfUuid7, firstUuid7At } from '../platform/lib/uuid7.ts';
import type { DeliveryStatus } from './deliveries/filter.ts';
import type { Page } from './deliveries/walk.ts';
import { isStarted } from './dispatcher/leases.ts';
import type { Timing } from './dispatcher/send/result.ts';
import type { Outcome, RequestHead } from './dispatcher/settle/settle.ts';

/** Delivery as shown in the delivery log. */
export type LoggedDelivery = {
  id: string;
  endpoint_id: number;
  event: string;
  session_id: string | null;
  pub_user_id: string | null;
  dev: boolean;
  status: DeliveryStatus;
  attempts: number;
  created_at: Date;
  finished_at: Date | null;
  redelivered_at: Date | null;
  erased_at: Date | null;
  next_attempt_at: Date | null;
  /** HTTP status of the latest attempt. */
  last_status: number | null;
  last_error: string | null;
};

const deliveryColumns = `d.id, d.endpoint_id, d.event, d.session_id, d.pub_user_id, d.dev, d.status, d.attempts,
      d.created_at, d.finished_at, d.redelivered_at, d.erased_at,
      q.due_at as next_attempt_at, a.status_code as last_status, a.error_class as last_error`;
const joins = `left join delivery_queue q on q.delivery_id = d.id
      left join lateral (
        select status_code, error_class from delivery_attempts a
        where a.day = d.day and a.delivery_id = d.id
        order by generation desc limit 1
      ) a on true`;

/** Loads the deliveries with these keys, in the same order. */
export async function readDeliveries(executor: Executor, keys: Page['keys']): Promise<LoggedDelivery[]> {
  const { rows } = await executor.query<LoggedDelivery>({
    text: `select ${deliveryColumns}
      from unnest($1::date[], $2::uuid[]) with ordinality as k (day, id, position)
      cross join lateral (select * from deliveries d where d.day = k.day and d.id = k.id limit 1) d
      ${joins}
      order by k.position`,
    values: [keys.map(({ day }) => day), keys.map(({ id }) => id)],
  });
  return rows;
}

/** Delivery with its payload. */
export type WholeDelivery = LoggedDelivery & { day: string; payload: Buffer };

/** Returns the publisher's delivery with this ID, or null if none exists. */
export async function findDelivery(executor: Executor, publisherId: number, id: string): Promise<WholeDelivery | null> {
  const { rows } = await executor.query<WholeDelivery>({
    text: `select ${deliveryColumns}, d.day::text as day, d.payload
      from deliveries d
      ${joins}
      where d.day = $1::date and d.id = $2::uuid and d.publisher_id = $3`,
    values: [dayOfUuid7(id), id, publisherId],
  });
  return rows[0] ?? null;
}

/** Attempt with those parts of its request and response that are stored. */
export type Attempt = {
  number: number;
  started_at: Date;
  finished_at: Date | null;
  outcome: Outcome['outcome'] | null;
  status_code: number | null;
  error_class: string | null;
  error_message: string | null;
  timing: Timing | null;
  remote_address: string | null;
  request: (Omit<RequestHead, 'method'> & { method: string }) | null;
  response_headers: Record<string, string> | null;
  response_body: Buffer | null;
  response_truncated: boolean | null;
  next_attempt_at: Date | null;
};

/** Maximum number of attempts shown for a delivery. If there are more, only the newest are shown. */
const maxAttempts = 100;

/** Returns the newest attempts of a delivery, oldest first. The last one may be in flight. */
export async function findAttempts(executor: Executor, id: string): Promise<Attempt[]> {
  const { rows } = await executor.query<Attempt>({
    text: `select row_number() over (order by generation)::int as number, started_at, finished_at, outcome,
        status_code, error_class, error_message, timing,
        remote_address, '{"headers": {}}'::jsonb || request as request,
        response_headers, response_body, response_truncated, next_attempt_at
      from (
        select * from delivery_attempts where day = $1::date and delivery_id = $2::uuid
        union all
        select (jsonb_populate_record(null::delivery_attempts, jsonb_build_object(
          'generation', q.generation, 'started_at', q.claimed_at
        ))).*
        from delivery_queue q
        where q.delivery_id = $2::uuid and ${isStarted('q')} and q.claimed_at is not null and not exists (
          select from delivery_attempts a
          where a.day = $1::date and a.delivery_id = $2::uuid and a.generation = q.generation
        )
      ) attempt
      order by generation desc limit ${maxAttempts}`,
    values: [dayOfUuid7(id), id],
  });
  return rows.reverse();
}

/** Whether any webhook that was created for a publisher since a given time has been delivered. */
export async function hasDelivered(executor: Executor, publisherId: number, sinceMs: number): Promise<boolean> {
  const { rows } = await executor.query(
    `select from webhook_endpoints e cross join lateral (
      select from deliveries d
      where d.endpoint_id = e.id and d.day >= $2::date and d.id >= $3::uuid and d.status = 'delivered' limit 1
    ) delivered
    where e.publisher_id = $1 limit 1`,
    [publisherId, dayOf(sinceMs), firstUuid7At(sinceMs)],
  );
  return rows.length > 0;
}
