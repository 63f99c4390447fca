import type { Executor } from '../../platform/db/pool.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { dayOfUuid7, isUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';

export const deliveryStatuses = ['pending', 'delivered', 'failed', 'held'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Which deliveries of a publisher are meant; null: any. Times are epoch milliseconds, `toMs` exclusive. */
export type DeliveryFilter = {
  publisherId: number;
  event: string | null;
  endpointId: number | null;
  statuses: readonly DeliveryStatus[] | null;
  fromMs: number | null;
  toMs: number | null;
  sessionId: string | null;
  pubUserId: string | null;
};

/** Deliveries in the order of their ids, which is that of their times. Bounds are exclusive. */
export type Walk = { order: 'newest' | 'oldest'; above: string | null; below: string | null; limit: number };

/** `next`: where to go on, exclusive; null: there is no more. */
export type Found = { keys: { id: string; day: string }[]; next: string | null };

/** Deliveries one walk looks at where no index knows the rest of its filter (count). */
const maxLookedAt = 2000;

/** Waiting deliveries sorted for one page (count). The queue is in the order of due times, not of ids. */
const maxSorted = 2000;

/** Whether a text is the id of a delivery that can exist: a made-up one can carry a time that no calendar holds. */
export const isDeliveryId = (text: string, nowMs: number): boolean =>
  isUuid7(text) && timeOfUuid7(text) <= nowMs + dayMs;

/**
 * Walks through the deliveries that match. Bounded: where an index leads to deliveries of which few match, it looks at
 * 2,000 and
 * says where to go on, so fewer than `limit` may come although there are more.
 */
export async function walkDeliveries(executor: Executor, filter: DeliveryFilter, walk: Walk): Promise<Found> {
  const way = await wayTo(executor, filter);
  if (way.by === 'endpoint' && way.ids.length === 0) return { keys: [], next: null };
  const { text, values, lookAt } = walkStatement(filter, walk, way);
  const { rows } = await executor.query<{
    looked_at: number;
    last: string | null;
    id: string | null;
    day_text: string;
  }>({ text, values });
  const keys = rows.flatMap(({ id, day_text }) => (id === null ? [] : [{ id, day: day_text }]));
  const [{ looked_at: lookedAt, last } = { looked_at: 0, last: null }] = rows;
  if (keys.length > walk.limit) {
    const page = keys.slice(0, walk.limit);
    return { keys: page, next: page.at(-1)?.id ?? null };
  }
  return { keys, next: lookedAt === lookAt ? last : null };
}

/**
 * A page is looked for this long (milliseconds): the first one is to be there after 50, however many deliveries there
 * are.
 */
const lookMs = 20;

/**
 * A page of the newest deliveries that match: walks on until it is full, nothing is left, or it took long.
 * @param untilMs when to stop, of `performance.now()`
 */
export async function findPage(
  executor: Executor,
  filter: DeliveryFilter,
  below: string | null,
  limit: number,
  untilMs = performance.now() + lookMs,
): Promise<Found> {
  const page: Found = { keys: [], next: below };
  do {
    const walk: Walk = { order: 'newest', above: null, below: page.next, limit: limit - page.keys.length };
    const { keys, next } = await walkDeliveries(executor, filter, walk);
    page.keys.push(...keys);
    page.next = next;
  } while (page.next !== null && page.keys.length < limit && performance.now() < untilMs);
  return page;
}

/** How a walk gets to its deliveries: by the user or session, by endpoints, or from the queue of endpoints. */
type Way = { by: 'who' } | { by: 'endpoint' | 'queue'; ids: readonly number[] };

async function wayTo(executor: Executor, filter: DeliveryFilter): Promise<Way> {
  if (isOneUser(filter)) return { by: 'who' };
  const ids = await findEndpointIds(executor, filter);
  const fromQueue = ids.length > 0 && isPending(filter) && (await isQueueShort(executor, ids));
  return { by: fromQueue ? 'queue' : 'endpoint', ids };
}

async function findEndpointIds(executor: Executor, filter: DeliveryFilter): Promise<number[]> {
  const sql = createSql();
  const text = `select e.id from webhook_endpoints e where ${endpointConditions(filter, sql)} order by e.id`;
  const { rows } = await executor.query<{ id: number }>({ text, values: sql.values });
  return rows.map(({ id }) => id);
}

/** Whether so few wait that they can be sorted. */
async function isQueueShort(executor: Executor, endpointIds: readonly number[]): Promise<boolean> {
  const { rows } = await executor.query<{ count: number }>({
    text: `select count(*)::int as count from (
      select from delivery_queue where lane = any(array['live', 'redelivery'])
        and endpoint_id = any($1::integer[]) limit ${maxSorted + 1}
    ) waiting`,
    values: [endpointIds],
  });
  return (rows[0]?.count ?? 0) <= maxSorted;
}

/** How many match, counted up to `limit`; only those that can be redelivered. */
export async function countRedeliverable(
  executor: Executor,
  filter: DeliveryFilter,
  below: string,
  limit: number,
): Promise<number> {
  const sql = createSql();
  const own = ownConditions(filter, sql);
  const endpoints = `d.endpoint_id = any(array(select e.id from webhook_endpoints e
    where ${endpointConditions(filter, sql)} and e.enabled))`;
  const rest = [...statusConditions(filter, sql), ...troubleConditions(filter), 'd.erased_at is null'];
  const conditions = [...own, endpoints, ...rangeConditions(filter, { above: null, below }, sql), ...rest];
  const { rows } = await executor.query<{ count: number }>({
    text: `select count(*)::int as count from (select from deliveries d
      where ${conditions.join(' and ')} limit ${limit}) matching`,
    values: sql.values,
  });
  return rows[0]?.count ?? 0;
}

type Sql = { values: unknown[]; value: (value: unknown) => string };

function createSql(): Sql {
  const values: unknown[] = [];
  return { values, value: (value) => `$${values.push(value)}` };
}

const isOneUser = ({ sessionId, pubUserId }: DeliveryFilter): boolean => sessionId !== null || pubUserId !== null;
const isPending = ({ statuses }: DeliveryFilter): boolean => statuses?.length === 1 && statuses[0] === 'pending';
const isTrouble = ({ statuses }: DeliveryFilter): boolean =>
  statuses?.every((status) => status === 'failed' || status === 'held') ?? false;

/**
 * Three ways to the deliveries: by session, by user, or endpoint by endpoint; each is an index in the order of days and
 * ids, so
 * that partitions are opened one after the other until the page is full. Pending ones come from the queue while it is
 * short;
 * where much waits, they are most of what came last.
 */
function walkStatement(
  filter: DeliveryFilter,
  { order, above, below, limit }: Walk,
  way: Way,
): { text: string; values: unknown[]; lookAt: number } {
  const sql = createSql();
  const direction = order === 'newest' ? 'desc' : 'asc';
  const sorted = `order by d.day ${direction}, d.id ${direction}`;
  const rest = way.by === 'queue' ? [] : restConditions(filter, sql);
  const lookAt = rest.length === 0 ? limit + 1 : maxLookedAt;
  const range = rangeConditions(filter, { above, below }, sql);
  const text = `with looked_at as materialized (${sourceOf(filter, range, `${sorted} limit ${lookAt}`, sql, way)}),
    matching as (
    select d.day, d.id from looked_at d where ${['true', ...rest].join(' and ')} ${sorted} limit ${limit + 1}
  )
  select s.looked_at, s.last, d.id, d.day::text as day_text
  from (select count(*)::int as looked_at, ${order === 'newest' ? 'min' : 'max'}(id::text) as last from looked_at) s
  left join matching d on true ${sorted}`;
  return { text, values: sql.values, lookAt };
}

/**
 * Each endpoint is written out by itself: from its id PostgreSQL knows how many deliveries it has, and walks instead of
 * sorting them.
 */
function sourceOf(filter: DeliveryFilter, range: readonly string[], sorted: string, sql: Sql, way: Way): string {
  const columns = 'd.day, d.id, d.event, d.endpoint_id, d.status';
  if (way.by === 'who')
    return `select ${columns} from deliveries d
      where ${[...ownConditions(filter, sql), ...range].join(' and ')} ${sorted}`;
  if (way.by === 'queue') {
    return `select ${columns} from (
      select d.day, d.id from (select day, delivery_id as id, endpoint_id from delivery_queue) d
      where ${[`d.endpoint_id = any(${sql.value(way.ids)}::integer[])`, ...range].join(' and ')} ${sorted}
    ) q cross join lateral (select * from deliveries d where d.day = q.day and d.id = q.id limit 1) d`;
  }
  const conditions = [...troubleConditions(filter), ...range].map((one) => ` and ${one}`).join('');
  const each = way.ids.map(
    (id) => `(select ${columns} from deliveries d where d.endpoint_id = ${sql.value(id)}${conditions} ${sorted})`,
  );
  return `select ${columns} from (${each.join(' union all ')}) d ${sorted}`;
}

function endpointConditions({ publisherId, event, endpointId }: DeliveryFilter, sql: Sql): string {
  return [
    `e.publisher_id = ${sql.value(publisherId)}`,
    ...(event === null ? [] : [`e.event = ${sql.value(event)}`]),
    ...(endpointId === null ? [] : [`e.id = ${sql.value(endpointId)}`]),
  ].join(' and ');
}

/** What is asked of the owner, the session and the user. */
function ownConditions({ publisherId, sessionId, pubUserId }: DeliveryFilter, sql: Sql): string[] {
  return [
    `d.publisher_id = ${sql.value(publisherId)}`,
    ...(sessionId === null ? [] : [`d.session_id = ${sql.value(sessionId)}::uuid`]),
    ...(pubUserId === null ? [] : [`d.pub_user_id = ${sql.value(pubUserId)}`]),
  ];
}

/** The time is inside the ids, so every bound is one of days and of ids. */
function rangeConditions(
  { fromMs, toMs }: DeliveryFilter,
  { above, below }: Pick<Walk, 'above' | 'below'>,
  sql: Sql,
): string[] {
  const froms = [above, fromMs === null ? null : outermostId(fromMs - 1, 'f')].filter((id) => id !== null);
  const tos = [below, toMs === null ? null : outermostId(toMs, '0')].filter((id) => id !== null);
  const from = froms.sort().at(-1);
  const to = tos.sort()[0];
  return [
    ...(from === undefined ? [] : [`d.day >= ${sql.value(dayOfUuid7(from))}::date`, `d.id > ${sql.value(from)}::uuid`]),
    ...(to === undefined ? [] : [`d.day <= ${sql.value(dayOfUuid7(to))}::date`, `d.id < ${sql.value(to)}::uuid`]),
  ];
}

/** A UUID of this millisecond with all its other digits alike: `0` is below, `f` above every delivery of that time. */
function outermostId(timeMs: number, digit: '0' | 'f'): string {
  const hex = Math.max(0, timeMs).toString(16).padStart(12, '0') + digit.repeat(20);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const troubleConditions = (filter: DeliveryFilter): string[] => (isTrouble(filter) ? ['d.in_trouble'] : []);

const statusConditions = ({ statuses }: DeliveryFilter, sql: Sql): string[] =>
  statuses === null ? [] : [`d.status = any(${sql.value(statuses)}::text[])`];

/** What the way to the deliveries leaves open. */
function restConditions(filter: DeliveryFilter, sql: Sql): string[] {
  if (!isOneUser(filter))
    return isTrouble(filter) && filter.statuses?.length === 2 ? [] : statusConditions(filter, sql);
  const { event, endpointId } = filter;
  return [
    ...(event === null ? [] : [`d.event = ${sql.value(event)}`]),
    ...(endpointId === null ? [] : [`d.endpoint_id = ${sql.value(endpointId)}`]),
    ...statusConditions(filter, sql),
  ];
}
