import type { Executor } from '../../platform/db/pool.ts';
import { createParameters, endpointConditions } from '../deliveries/conditions.ts';
import type { DeliveryFilter } from '../deliveries/filter.ts';
import { wakeWorkers } from '../outbox-channel.ts';

/*
 * Rows that a worker is changing are skipped: such a delivery is being attempted, such a breaker has just seen a call.
 */

/**
 * Lets the next attempt of pending deliveries be made now. They keep their lane, their place where order is strict, and
 * the attempts made; how many calls their endpoint gets at once is as before.
 * @returns how many of them are queued
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

/** Ends the wait of the endpoints that the filter names: an open breaker lets one call through as its probe. */
export async function endWait(
  executor: Executor,
  filter: Pick<DeliveryFilter, 'publisherId' | 'event' | 'endpointId'>,
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
