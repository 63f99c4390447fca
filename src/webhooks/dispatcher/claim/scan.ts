import type { Executor } from '../../../platform/db/pool.ts';
import type { Lane } from './claim.ts';
import { isTrusted, mayBeCalled } from './claim-statement.ts';

/** An endpoint of which something is due. */
export type ScannedEndpoint = {
  endpointId: number;
  /** It may be called. */
  callable: boolean;
  /** It is in good standing. */
  trusted: boolean;
};

/** Endpoints looked at by one statement (count): 1.5 ms. */
const page = 100;

/*
 * $1 lane · $2 the endpoint before the first · $3 how many
 *
 * Hops through the index from endpoint to endpoint: the backlogs do not count.
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
    ${isTrusted} is true as trusted
  from (select * from waiting limit $3) w
  left join webhook_endpoints e on e.id = w.endpoint_id left join endpoint_health h on h.endpoint_id = w.endpoint_id
  order by w.endpoint_id`;

/**
 * Looks at the next endpoints that have something in a lane of the queue, in the order of their ids.
 * @param after the endpoint before the first; 0: from the start
 * @returns those of which something is due, and after which to go on; null: these were the last
 */
export async function scanQueue(
  executor: Executor,
  lane: Lane,
  after: number,
): Promise<{ waiting: ScannedEndpoint[]; next: number | null }> {
  const { rows } = await executor.query<ScannedEndpoint & { due: boolean }>({
    name: 'look_around',
    text: statement,
    values: [lane, after, page],
  });
  const next = rows.length < page ? null : (rows.at(-1)?.endpointId ?? null);
  return { waiting: rows.filter(({ due }) => due), next };
}
