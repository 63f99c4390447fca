import type { Executor } from '../platform/db/pool.ts';

/** Number of an endpoint's latest deliveries that are read. Events before them have no time. */
export const recentDeliveries = 1000;

/** Time of the latest webhook of an event to an endpoint. */
export type LastSent = { endpoint_id: number; event: string; at: Date };

/** Reads when each event was last sent to each of the endpoints, from the latest deliveries of each endpoint. */
export async function readLastSent(executor: Executor, endpointIds: readonly number[]): Promise<LastSent[]> {
  if (endpointIds.length === 0) return [];
  const { rows } = await executor.query<LastSent>(
    `select e.endpoint_id, recent.event, max(recent.created_at) as at
    from unnest($1::integer[]) as e (endpoint_id) cross join lateral (
      select event, created_at from deliveries d where d.endpoint_id = e.endpoint_id
      order by day desc, id desc limit ${recentDeliveries}
    ) recent group by 1, 2`,
    [endpointIds],
  );
  return rows;
}
