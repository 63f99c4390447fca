import type { Executor } from '../db/pool.ts';
import { dayOf, newSessionId as newUuidV7 } from '../session-id.ts';

/** What a publisher is to be told. */
export type Promised = {
  publisherId: number;
  /** Event of `webhook_endpoints`, such as `usp.selection`. */
  event: string;
  sessionId: string | null;
  pubUserId: string | null;
  dev: boolean;
  /** Bytes signed = bytes stored = bytes sent. */
  payload: Buffer;
  /** Epoch milliseconds. */
  nowMs: number;
};

type Target = { id: number; enabled: boolean };

/**
 * Promises one delivery to each endpoint the publisher has configured for the event; where an endpoint is disabled, the
 * delivery is held. Must run in the transaction of the fact that causes it: both are written, or neither.
 * @returns the ids of the deliveries, UUIDv7
 */
export async function enqueue(executor: Executor, promised: Promised): Promise<string[]> {
  const targets = await lockTargets(executor, promised.publisherId, promised.event);
  const ids = targets.map(() => newUuidV7(promised.nowMs));
  if (targets.length > 0) await insertDeliveries(executor, promised, targets, ids);
  return ids;
}

/** The share lock makes whoever enables or disables an endpoint wait, so that no delivery slips past the change. */
async function lockTargets(executor: Executor, publisherId: number, event: string): Promise<Target[]> {
  const { rows } = await executor.query<Target>({
    name: 'lock_webhook_targets',
    text: 'select id, enabled from webhook_endpoints where publisher_id = $1 and event = $2 order by id for share',
    values: [publisherId, event],
  });
  return rows;
}

/** Due at the earlier of both clocks, so that no difference between them delays the first try. */
async function insertDeliveries(executor: Executor, promised: Promised, targets: readonly Target[], ids: readonly string[]): Promise<void> {
  const { publisherId, event, sessionId, pubUserId, dev, payload, nowMs } = promised;
  await executor.query({
    name: 'insert_deliveries',
    text: `with promised as (
  insert into deliveries (day, id, publisher_id, endpoint_id, event, session_id, pub_user_id, dev, payload, status, created_at)
  select $1::date, id, $2, endpoint_id, $3, $4::uuid, $5, $6, $7::bytea, case when enabled then 'pending' else 'held' end, $8::timestamptz
  from unnest($9::uuid[], $10::integer[], $11::boolean[]) as target (id, endpoint_id, enabled)
  returning id, day, endpoint_id, status
), queued as (
  insert into delivery_queue (delivery_id, day, endpoint_id, due_at)
  select id, day, endpoint_id, least(now(), $8::timestamptz) from promised where status = 'pending'
  returning delivery_id
)
select pg_notify('perkwire_outbox', '') from queued limit 1`,
    values: [
      dayOf(nowMs),
      publisherId,
      event,
      sessionId,
      pubUserId,
      dev,
      payload,
      new Date(nowMs),
      ids,
      targets.map((target) => target.id),
      targets.map((target) => target.enabled),
    ],
  });
}
