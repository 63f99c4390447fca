import type { Executor } from '../../platform/db/pool.ts';
import {
  type Bounds,
  createParameters,
  endpointConditions,
  eventConditions,
  type Parameters,
  rangeConditions,
  statusConditions,
  targetConditions,
  undeliveredConditions,
  userConditions,
} from './conditions.ts';
import { type DeliveryFilter, isNotDelivered, isOfOneUser, isPendingOnly, isUndeliveredOnly } from './filter.ts';

/** Bounds, order and limit of a list query. Sorting delivery IDs also sorts deliveries by creation time. */
export type Walk = Bounds & { order: 'newest' | 'oldest'; limit: number };

/** Page of delivery keys. `next` is the exclusive bound of the next page, or null on the last page. */
export type Page = { keys: { id: string; day: string }[]; next: string | null };

/** Maximum number of deliveries that one query reads if no index covers all filter conditions. */
const maxScanned = 2000;

/**
 * Maximum number of queued deliveries to sort for a page. Sorting is needed because the queue is ordered by due time,
 * not by ID.
 */
const maxSorted = 2000;

/**
 * Time budget for filling a page, in milliseconds. It keeps the response time for the first page below 50 ms,
 * regardless of the number of deliveries.
 */
const pageBudgetMs = 20;

/**
 * Reads matching deliveries up to a limit. If only few deliveries in an index match, stops after reading 2,000 and
 * returns the position at which to continue. The result may therefore contain fewer than `limit` rows even though there
 * are more.
 */
export async function walkDeliveries(executor: Executor, filter: DeliveryFilter, walk: Walk): Promise<Page> {
  const path = await accessPathOf(executor, filter);
  if (path.by === 'endpoint' && path.endpointIds.length === 0) return { keys: [], next: null };
  const { text, values, maxRead } = walkStatement(filter, walk, path);
  const { rows } = await executor.query<{
    scanned: number;
    last: string | null;
    id: string | null;
    day_text: string;
  }>({ text, values });
  const keys = rows.flatMap(({ id, day_text: day }) => (id === null ? [] : [{ id, day }]));
  const [{ scanned, last } = { scanned: 0, last: null }] = rows;
  if (keys.length > walk.limit) {
    const page = keys.slice(0, walk.limit);
    return { keys: page, next: page.at(-1)?.id ?? null };
  }
  return { keys, next: scanned === maxRead ? last : null };
}

/**
 * Returns a page of the newest matching deliveries. Reads until the page is full, there are no more deliveries, or the
 * deadline has passed.
 * @param untilMs deadline on the clock of `performance.now()`
 */
export async function findPage(
  executor: Executor,
  filter: DeliveryFilter,
  below: string | null,
  limit: number,
  untilMs = performance.now() + pageBudgetMs,
): Promise<Page> {
  const page: Page = { keys: [], next: below };
  do {
    const walk: Walk = { order: 'newest', above: null, below: page.next, limit: limit - page.keys.length };
    const { keys, next } = await walkDeliveries(executor, filter, walk);
    page.keys.push(...keys);
    page.next = next;
  } while (page.next !== null && page.keys.length < limit && performance.now() < untilMs);
  return page;
}

/**
 * Counts the matching deliveries that can be redelivered, up to `limit`. Pending deliveries are counted from the queue.
 */
export async function countRedeliverable(
  executor: Executor,
  filter: DeliveryFilter,
  below: string,
  limit: number,
): Promise<number> {
  const parameters = createParameters();
  const endpoints = `any(array(
      select e.id from webhook_endpoints e
      where ${[...endpointConditions(filter, parameters), 'e.enabled'].join(' and ')}
    ))`;
  const conditions = [
    ...userConditions(filter, parameters),
    `d.endpoint_id = ${endpoints}`,
    ...rangeConditions(filter, { above: null, below }, parameters),
    ...eventConditions(filter, parameters),
    'd.erased_at is null',
  ].join(' and ');
  const isFromQueue = filter.statuses?.includes('pending') === true && !isOfOneUser(filter);
  const others = isFromQueue ? (filter.statuses ?? []).filter((status) => status !== 'pending') : filter.statuses;
  const rest = { ...filter, statuses: others };
  const restText = ['true', ...statusConditions(rest, parameters), ...undeliveredConditions(rest)].join(' and ');
  const queued = `select from delivery_queue q cross join lateral (
          select * from deliveries d where d.day = q.day and d.id = q.delivery_id limit 1
        ) d
        where q.lane = any(array['live', 'redelivery']) and q.endpoint_id = ${endpoints} and ${conditions} union all`;
  const { rows } = await executor.query<{ count: number }>({
    text: `select count(*)::int as count
      from (
        ${isFromQueue ? queued : ''} select from deliveries d where ${conditions} and ${restText} limit ${limit}
      ) matching`,
    values: parameters.values,
  });
  return rows[0]?.count ?? 0;
}

/** Access path of a list query: by user or session, by endpoint, or from the endpoints' queue. */
type AccessPath =
  | { by: 'user' }
  /**
   * `coversEvent` means that the endpoints receive only the event in the filter. `waiting` reads the queue as well as
   * the failed and held deliveries of each endpoint.
   */
  | { by: 'endpoint' | 'queue' | 'waiting'; endpointIds: readonly number[]; coversEvent: boolean };

async function accessPathOf(executor: Executor, filter: DeliveryFilter): Promise<AccessPath> {
  if (isOfOneUser(filter)) return { by: 'user' };
  const endpoints = await findEndpoints(executor, filter);
  const endpointIds = endpoints.map(({ id }) => id);
  const coversEvent = filter.event === null || endpoints.every(({ event }) => event !== null);
  const asksQueue = endpointIds.length > 0 && isNotDelivered(filter) && !isUndeliveredOnly(filter);
  const isQueued = asksQueue && (await isQueueShort(executor, endpointIds));
  const by = !isQueued ? 'endpoint' : isPendingOnly(filter) ? 'queue' : 'waiting';
  return { by, endpointIds, coversEvent };
}

async function findEndpoints(executor: Executor, filter: DeliveryFilter) {
  const parameters = createParameters();
  const conditions = endpointConditions(filter, parameters).join(' and ');
  const { rows } = await executor.query<{ id: number; event: string | null }>({
    text: `select e.id, e.event from webhook_endpoints e where ${conditions} order by e.id`,
    values: parameters.values,
  });
  return rows;
}

/** Whether the queue of these endpoints is short enough to be sorted. */
async function isQueueShort(executor: Executor, endpointIds: readonly number[]): Promise<boolean> {
  const { rows } = await executor.query<{ count: number }>({
    text: `select count(*)::int as count
    from (
      select from delivery_queue
      where lane = any(array['live', 'redelivery']) and endpoint_id = any($1::integer[])
      limit ${maxSorted + 1}
    ) queued`,
    values: [endpointIds],
  });
  return (rows[0]?.count ?? 0) <= maxSorted;
}

/**
 * Builds the list query, which reads by session, by user or by endpoint. Each access path uses an index ordered by day
 * and ID, so partitions are opened one after the other until the page is full. Pending deliveries are read from the
 * queue if it is short. If it is long, this is not needed, because most of the newest deliveries are pending anyway.
 */
function walkStatement(
  filter: DeliveryFilter,
  { order, above, below, limit }: Walk,
  path: AccessPath,
): { text: string; values: unknown[]; maxRead: number } {
  const parameters = createParameters();
  const direction = order === 'newest' ? 'desc' : 'asc';
  const sorted = `order by d.day ${direction}, d.id ${direction}`;
  const rest = restConditions(filter, path, parameters);
  const maxRead = rest.length === 0 ? limit + 1 : maxScanned;
  const range = rangeConditions(filter, { above, below }, parameters);
  const text = `with scanned as materialized (
    ${sourceOf(filter, path, { range, sorted: `${sorted} limit ${maxRead}` }, parameters)}
  ), matching as (
    select d.day, d.id from scanned d where ${['true', ...rest].join(' and ')} ${sorted} limit ${limit + 1}
  )
  select s.scanned, s.last, d.id, d.day::text as day_text
  from (
    select count(*)::int as scanned, ${order === 'newest' ? 'min' : 'max'}(id::text) as last from scanned
  ) s left join matching d on true
  ${sorted}`;
  return { text, values: parameters.values, maxRead };
}

const columns = 'd.day, d.id, d.event, d.endpoint_id, d.status';

/** Returns the SQL that reads deliveries along an access path. */
function sourceOf(
  filter: DeliveryFilter,
  path: AccessPath,
  { range, sorted }: { range: readonly string[]; sorted: string },
  parameters: Parameters,
): string {
  if (path.by === 'user')
    return `select ${columns} from deliveries d
      where ${[...userConditions(filter, parameters), ...range].join(' and ')} ${sorted}`;
  const queued = () => `select ${columns}
      from (
        select d.day, d.id from (select day, delivery_id as id, endpoint_id from delivery_queue) d
        where ${[`d.endpoint_id = any(${parameters.add(path.endpointIds)}::integer[])`, ...range].join(' and ')}
        ${sorted}
      ) q cross join lateral (select * from deliveries d where d.day = q.day and d.id = q.id limit 1) d`;
  if (path.by === 'queue') return queued();
  // Use one branch per endpoint. PostgreSQL then knows how many deliveries each endpoint has, and scans its index
  // without sorting.
  const isUndelivered = path.by === 'waiting' || isUndeliveredOnly(filter);
  const conditions = [...(isUndelivered ? ['d.undelivered'] : []), ...range]
    .map((condition) => ` and ${condition}`)
    .join('');
  const branches = path.endpointIds.map(
    (id) => `(select ${columns} from deliveries d where d.endpoint_id = ${parameters.add(id)}${conditions} ${sorted})`,
  );
  if (path.by === 'waiting') branches.push(`(${queued()})`);
  return `select ${columns} from (${branches.join(' union all ')}) d ${sorted}`;
}

/** Returns the SQL conditions that the access path does not cover. */
function restConditions(filter: DeliveryFilter, path: AccessPath, parameters: Parameters): string[] {
  if (path.by === 'user') return [...targetConditions(filter, parameters), ...statusConditions(filter, parameters)];
  const event = path.coversEvent ? [] : eventConditions(filter, parameters);
  if (path.by === 'queue' || (isUndeliveredOnly(filter) && filter.statuses?.length === 2)) return event;
  return [...event, ...statusConditions(filter, parameters)];
}
