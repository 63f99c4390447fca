import type { Executor } from '../../../platform/db/pool.ts';
import { countMoves } from '../../deliveries/counts.ts';
import { interruptedColumns, isStarted, logInterrupted } from '../leases.ts';

/** Maximum number of deliveries parked per statement. */
const maxParked = 5000;

/**
 * Removes the pending deliveries of disabled endpoints from the queue and marks them as `held`. Skips leased
 * deliveries, which their worker settles.
 * @returns the number of parked deliveries, up to 5,000 per call
 */
export async function parkDisabled(executor: Executor): Promise<number> {
  const { rows } = await executor.query<{ count: number }>(
    `with parked as materialized (
      select ${interruptedColumns}, ${isStarted('q')} as is_started from delivery_queue q
      where q.lane = any(array['live', 'redelivery'])
        and q.endpoint_id = any(array(select id from webhook_endpoints where not enabled))
        and (q.lease_until is null or q.lease_until < now())
      limit ${maxParked} for update skip locked
    ), removed as (
      delete from delivery_queue where delivery_id = any(array(select delivery_id from parked))
    ), logged as (
      ${logInterrupted('select * from parked where is_started')}
    ), held as (
      update deliveries set status = 'held'
      where day = any(array(select distinct day from parked)) and id = any(array(select delivery_id from parked))
      returning publisher_id, day
    ), counted as (
      ${countMoves("select publisher_id, day, 'pending' as was, 'held' as became from held")}
    )
    select count(*)::int as count from held`,
  );
  return rows[0]?.count ?? 0;
}
