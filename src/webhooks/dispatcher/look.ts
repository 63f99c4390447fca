import type { Executor } from '../../db/pool.ts';
import type { Lane } from './claim.ts';
import { isTrusted, mayBeCalled } from './claim-statement.ts';

/** An endpoint with deliveries in the queue. */
export type Waiting = {
  endpointId: number;
  /** The oldest is due, and the endpoint may be called. */
  callable: boolean;
  /** It is in good standing. */
  trusted: boolean;
};

/** Endpoints found by one statement (count): a few milliseconds. */
const page = 250;

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
  select w.endpoint_id as "endpointId", w.due_at <= now() and ${mayBeCalled} is true as callable, ${isTrusted} is true as trusted
  from (select * from waiting limit $3) w
  left join webhook_endpoints e on e.id = w.endpoint_id left join endpoint_health h on h.endpoint_id = w.endpoint_id
  order by w.endpoint_id`;

/** All endpoints that have something in a lane of the queue. */
export async function lookAround(executor: Executor, lane: Lane): Promise<Waiting[]> {
  const found: Waiting[] = [];
  for (;;) {
    const { rows } = await executor.query<Waiting>({
      name: 'look_around',
      text: statement,
      values: [lane, found.at(-1)?.endpointId ?? 0, page],
    });
    found.push(...rows);
    if (rows.length < page) return found;
  }
}
