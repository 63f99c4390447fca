import type { Executor } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { createParameters, endpointConditions } from '../deliveries/conditions.ts';
import { countMoves } from '../deliveries/counts.ts';
import type { DeliveryStatus } from '../deliveries/filter.ts';
import type { Page } from '../deliveries/walk.ts';
import { findDelivery } from '../delivery-store.ts';
import { wakeWorkers } from '../outbox.ts';

/** Locks the publisher's endpoints until the end of the transaction, and returns the IDs of the enabled ones. */
export async function lockOpenEndpoints(executor: Executor, publisherId: number): Promise<number[]> {
  const { rows } = await executor.query<{ id: number; enabled: boolean }>(
    'select id, enabled from webhook_endpoints where publisher_id = $1 order by id for share',
    [publisherId],
  );
  return rows.filter(({ enabled }) => enabled).map(({ id }) => id);
}

/** Selection of a publisher's deliveries to queue again. */
export type Requeue = {
  publisherId: number;
  keys: Page['keys'];
  /** Endpoints locked by {@link lockOpenEndpoints}. */
  endpointIds: readonly number[];
  statuses: readonly DeliveryStatus[];
  nowMs: number;
};

/**
 * Queues deliveries again in the redelivery lane, with the full retry schedule. The ID and bytes stay the same, and the
 * signature is new. Skips deliveries that are pending or erased, have another status, or belong to a disabled endpoint.
 * The new generation is higher than that of the last attempt, so that a worker with an outdated claim cannot settle the
 * redelivery.
 * @returns the number of queued deliveries
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

/*
 * Rows that a worker is changing are skipped: such a delivery is being attempted, or such a breaker has just seen a
 * call.
 */

/**
 * Makes pending deliveries due immediately. They keep their lane, their place in a strict order, and their number of
 * attempts. Their endpoint's concurrency limit still applies.
 * @returns the number of these deliveries that are in the queue
 */
export async function attemptNow(
  executor: Executor,
  ids: readonly string[],
  endpointIds: readonly number[],
): Promise<number> {
  const { rows } = await executor.query<{ count: number }>(
    `with queued as materialized (
      select delivery_id, due_at > now() and lease_until is null as waits from delivery_queue
      where delivery_id = any($1::uuid[]) and endpoint_id = any($2::integer[])
    ), free as materialized (
      select delivery_id from delivery_queue
      where delivery_id = any(array(select delivery_id from queued where waits)) and lease_until is null
      for update skip locked
    ), made_due as (
      update delivery_queue set due_at = now() where delivery_id = any(array(select delivery_id from free))
    )
    select count(*)::int as count from queued`,
    [ids, endpointIds],
  );
  const count = rows[0]?.count ?? 0;
  if (count > 0) await wakeWorkers(executor);
  return count;
}

/**
 * Ends the waiting time of endpoints that match the filter. If an endpoint's breaker is open, it then allows one call
 * as its probe.
 */
export async function endWait(
  executor: Executor,
  filter: { publisherId: number; event: string | null; endpointId: number | null },
): Promise<void> {
  const parameters = createParameters();
  const conditions = endpointConditions(filter, parameters).join(' and ');
  await executor.query({
    text: `with waiting as materialized (
      select h.endpoint_id from endpoint_health h join webhook_endpoints e on e.id = h.endpoint_id
      where ${conditions} and (h.open_until > now() or h.not_before > now())
      for update of h skip locked
    )
    update endpoint_health set not_before = null, open_until = least(open_until, now())
    where endpoint_id = any(array(select endpoint_id from waiting))`,
    values: parameters.values,
  });
}

/**
 * Queues one of the publisher's deliveries again. If it is pending, it is made due immediately. Must run in a
 * transaction.
 * @throws AppError `delivery_not_found`, `delivery_erased`, `endpoint_disabled`
 */
export async function redeliverOne(executor: Executor, publisherId: number, id: string, nowMs: number): Promise<void> {
  const endpointIds = await lockOpenEndpoints(executor, publisherId);
  const delivery = await findDelivery(executor, publisherId, id);
  if (delivery === null) throw new AppError('delivery_not_found');
  if (delivery.erased_at !== null) throw new AppError('delivery_erased');
  if (!endpointIds.includes(delivery.endpoint_id)) throw new AppError('endpoint_disabled');
  const statuses = ['delivered', 'failed', 'held'] as const;
  await requeue(executor, { publisherId, keys: [{ id, day: delivery.day }], endpointIds, statuses, nowMs });
  if (delivery.status !== 'pending') return;
  await endWait(executor, { publisherId, event: null, endpointId: delivery.endpoint_id });
  await attemptNow(executor, [id], endpointIds);
}
