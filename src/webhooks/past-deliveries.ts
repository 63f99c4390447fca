import type { Transaction } from '../platform/db/pool.ts';
import { dayOfUuid7, newUuid7 } from '../platform/lib/uuid7.ts';
import { countMoves } from './deliveries/counts.ts';
import type { OutboxEvent } from './outbox.ts';

/** Share of past deliveries that needed a second attempt: one in every 25. */
const retriedEvery = 25;

const insertSql = `
with given as (
  select g.*, e.id as endpoint_id, e.method, e.url, 80 + g.n * 37 % 170 as took_ms, g.n % ${retriedEvery} = 0 as retried
  from unnest($3::date[], $4::uuid[], $5::uuid[], $6::text[], $7::bytea[], $8::timestamptz[]) with ordinality
    as g (day, id, session_id, pub_user_id, payload, created_at, n)
  join webhook_endpoints e on e.publisher_id = $1 and e.event = $2 and e.deleted_at is null
), created as (
  insert into deliveries (
    day, id, publisher_id, endpoint_id, event, session_id, pub_user_id, payload, status, attempts,
    created_at, finished_at
  )
  select day, id, $1, endpoint_id, $2, session_id, pub_user_id, payload, 'delivered',
    case when retried then 2 else 1 end,
    created_at, created_at + took_ms * interval '1 ms' + case when retried then interval '5 s' else interval '0' end
  from given
  returning publisher_id, day, status
), attempted as (
  insert into delivery_attempts (day, delivery_id, generation, publisher_id, endpoint_id, started_at, finished_at,
    outcome, status_code, error_class, total_ms, request, next_attempt_at)
  select day, id, generation, $1, endpoint_id, started_at, started_at + took_ms * interval '1 ms',
    case when fails then 'retry' else 'delivered' end, case when fails then 503 else 200 end,
    case when fails then 'status' end, took_ms,
    jsonb_build_object('method', method, 'url', url, 'headers', jsonb_build_object()),
    case when fails then created_at + interval '5 s' end
  from given cross join lateral (
    select 1 as generation, retried as fails, created_at as started_at
    union all select 2, false, created_at + interval '5 s' where retried
  ) attempt
)
${countMoves('select publisher_id, day, null as was, status as became from created')}`;

/**
 * Stores events of the past as deliveries that reached the default endpoint of their event type, if there is one. Used
 * for generated demo history. Sends nothing. All events must have the same publisher and event type.
 */
export async function recordPastDeliveries(executor: Transaction, events: readonly OutboxEvent[]): Promise<void> {
  const [first] = events;
  if (first === undefined) return;
  const ids = events.map(({ nowMs }) => newUuid7(nowMs));
  await executor.query(insertSql, [
    first.publisherId,
    first.event,
    ids.map(dayOfUuid7),
    ids,
    events.map(({ sessionId }) => sessionId),
    events.map(({ pubUserId }) => pubUserId),
    events.map(({ payload }) => payload()),
    events.map(({ nowMs }) => new Date(nowMs)),
  ]);
}
