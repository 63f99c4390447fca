import type { Executor } from '../../platform/db/pool.ts';
import { isListener } from '../destinations/kinds.ts';

/*
 * A listener is an endpoint that no worker calls: a command line on a developer's machine takes its deliveries over a
 * stream, and reports the responses (docs/reference/webhooks.md#listeners).
 */

/** Time without a connection after which a listener counts as abandoned, as an SQL interval. */
const abandonedAfter = '15 minutes';

export async function markListener(executor: Executor, endpointId: number): Promise<void> {
  await executor.query('update webhook_endpoints set is_listener = true where id = $1', [endpointId]);
}

/** Returns the IDs of the publisher's listeners, to which triggered sample events are sent. */
export async function listenerIds(executor: Executor, publisherId: number): Promise<number[]> {
  const { rows } = await executor.query<{ id: number }>(
    `select id from webhook_endpoints e
    where publisher_id = $1 and ${isListener} and deleted_at is null order by id`,
    [publisherId],
  );
  return rows.map(({ id }) => id);
}

/** Removes abandoned listeners. Their pending deliveries are held. Several processes may run it concurrently. */
export async function removeAbandonedListeners(executor: Executor): Promise<void> {
  await executor.query(
    `update webhook_endpoints e set deleted_at = now(), enabled = false, updated_at = now()
    from endpoint_health h
    where h.endpoint_id = e.id and ${isListener} and e.deleted_at is null
      and coalesce(h.listened_at, e.created_at) < now() - interval '${abandonedAfter}'`,
  );
}
