import type { Executor } from '../../platform/db/pool.ts';
import { countMoves } from '../deliveries/counts.ts';
import type { DeliveryStatus } from '../deliveries/filter.ts';
import type { Page } from '../deliveries/walk.ts';
import { wakeWorkers } from '../outbox-channel.ts';

/** The publisher's enabled endpoints, locked until the end of the transaction. */
export async function lockOpenEndpoints(executor: Executor, publisherId: number): Promise<number[]> {
  const { rows } = await executor.query<{ id: number; enabled: boolean }>(
    'select id, enabled from webhook_endpoints where publisher_id = $1 order by id for share',
    [publisherId],
  );
  return rows.filter(({ enabled }) => enabled).map(({ id }) => id);
}

/** Which deliveries of the publisher may be queued again. */
export type Requeue = {
  publisherId: number;
  keys: Page['keys'];
  /** Of {@link lockOpenEndpoints}. */
  endpointIds: readonly number[];
  statuses: readonly DeliveryStatus[];
  nowMs: number;
};

/**
 * Queues deliveries again, in the lane of redeliveries and with the whole retry schedule: the same id and bytes with a
 * new signature. Skips those that are pending, erased, of another status or of a disabled endpoint. Their generation is
 * beyond that of their last attempt, so that a worker with an outdated claim cannot settle the new ones.
 * @returns how many were queued
 */
export async function requeue(
  executor: Executor,
  { publisherId, keys, endpointIds, statuses, nowMs }: Requeue,
): Promise<number> {
  if (keys.length === 0 || endpointIds.length === 0) return 0;
  const days = [...new Set(keys.map(({ day }) => day))];
  const { rowCount } = await executor.query(
    `with chosen as materialized (
      select d.day, d.id, d.status from unnest($1::date[], $2::uuid[]) as k (day, id) cross join lateral (
        select d.day, d.id, d.status from deliveries d
        where d.day = k.day and d.id = k.id and d.publisher_id = $3 and d.endpoint_id = any($4::integer[])
          and d.status = any($5::text[]) and d.status <> 'pending' and d.erased_at is null
        limit 1 for update
      ) d
    ), changed as (
      update deliveries d set status = 'pending', attempts = 0, finished_at = null, redelivered_at = $6::timestamptz
      from chosen c where d.day = any($7::date[]) and d.day = c.day and d.id = c.id
      returning d.publisher_id, d.day, d.id, d.endpoint_id, c.status as was
    ), counted as (
      ${countMoves("select publisher_id, day, was, 'pending' as became from changed")}
    )
    insert into delivery_queue (delivery_id, day, endpoint_id, due_at, lane, generation)
    select c.id, c.day, c.endpoint_id, least(now(), $6::timestamptz), 'redelivery', coalesce((
      select max(generation) + 1 from delivery_attempts a where a.day = c.day and a.delivery_id = c.id
    ), 0)
    from changed c`,
    [keys.map(({ day }) => day), keys.map(({ id }) => id), publisherId, endpointIds, statuses, new Date(nowMs), days],
  );
  await wakeWorkers(executor);
  return rowCount ?? 0;
}
