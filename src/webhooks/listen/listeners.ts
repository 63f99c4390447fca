import type { Executor } from '../../platform/db/pool.ts';

/*
 * A listener is an endpoint that no worker calls: a command line on a developer's machine takes its deliveries over a
 * stream, and reports the answers (docs/reference/webhooks.md#listeners).
 */

/** How long a listener is kept that nobody listens to (SQL interval): after that it is taken for given up. */
const abandonedAfter = '15 minutes';

export async function markListener(executor: Executor, endpointId: number): Promise<void> {
  await executor.query('update webhook_endpoints set is_listener = true where id = $1', [endpointId]);
}

/** The publisher's listeners: those that a made-up event is sent to. */
export async function listenerIds(executor: Executor, publisherId: number): Promise<number[]> {
  const { rows } = await executor.query<{ id: number }>(
    'select id from webhook_endpoints where publisher_id = $1 and is_listener and deleted_at is null order by id',
    [publisherId],
  );
  return rows.map(({ id }) => id);
}

/** Removes abandoned listeners; their pending deliveries are held. Any number of processes may do it. */
export async function removeAbandonedListeners(executor: Executor): Promise<void> {
  await executor.query(
    `update webhook_endpoints e set deleted_at = now(), enabled = false, updated_at = now()
    from endpoint_health h
    where h.endpoint_id = e.id and e.is_listener and e.deleted_at is null
      and coalesce(h.listened_at, e.created_at) < now() - interval '${abandonedAfter}'`,
  );
}
