import type { Executor } from '../../../platform/db/pool.ts';
import { mayBeCalled, standingOf } from './claim.ts';
import type { Lane, Standing } from './claimed.ts';

/** Endpoint with due deliveries, as found by a scan. */
export type ScannedEndpoint = {
  endpointId: number;
  /** Whether the endpoint may be called. */
  callable: boolean;
  standing: Standing;
};

/** Number of endpoints per scan statement. A statement of this size takes 1.5 ms. */
const page = 100;

/*
 * $1 lane · $2 the endpoint before the first · $3 limit
 *
 * Skips through the index from endpoint to endpoint, so that backlogs don't matter.
 */
const statement = `
  with recursive waiting (endpoint_id, due_at) as (
    (select q.endpoint_id, q.due_at from delivery_queue q
      where q.lane = $1 and q.endpoint_id > $2 order by q.lane, q.endpoint_id, q.due_at limit 1)
    union all
    select next.* from waiting w cross join lateral (
      select q.endpoint_id, q.due_at from delivery_queue q
      where q.lane = $1 and q.endpoint_id > w.endpoint_id order by q.lane, q.endpoint_id, q.due_at limit 1
    ) next
  )
  select w.endpoint_id as "endpointId", w.due_at <= now() as due, ${mayBeCalled} is true as callable,
    ${standingOf} as standing
  from (select * from waiting limit $3) w
  left join webhook_endpoints e on e.id = w.endpoint_id left join endpoint_health h on h.endpoint_id = w.endpoint_id
  order by w.endpoint_id`;

/**
 * Reads the next endpoints with deliveries in a lane of the queue, in ID order.
 * @param after ID of the last endpoint already read, or 0 to start from the beginning
 * @returns the endpoints with due deliveries, and the ID of the last endpoint read, or null if there are no more
 */
export async function scanQueue(
  executor: Executor,
  lane: Lane,
  after: number,
): Promise<{ endpoints: ScannedEndpoint[]; next: number | null }> {
  const { rows } = await executor.query<ScannedEndpoint & { due: boolean }>({
    name: 'scan_queue',
    text: statement,
    values: [lane, after, page],
  });
  const next = rows.length < page ? null : (rows.at(-1)?.endpointId ?? null);
  return { endpoints: rows.filter(({ due: isDue }) => isDue), next };
}
