import type { Executor } from '../../platform/db/pool.ts';

/** An event, with data from the request that started its session. */
export type Observation = {
  session_id: string;
  kind: 'impression' | 'click' | 'conversion';
  publisher_id: number;
  offer_id: number;
  position: number;
  placement: string;
  device: string | null;
  os: string | null;
  country: string | null;
  custom: Record<string, string> | null;
  time_zone: string | null;
  loyalty: string | null;
  revenue_micros: number;
  /**
   * Currency of `revenue_micros`. Null if there is no revenue, or if an earlier release stored the event; the
   * campaign's currency then applies.
   */
  currency: string | null;
  session_ms: number;
  at_ms: number;
  /**
   * Time from the impression to the click, or from the click to the conversion, in milliseconds. Null for other events.
   */
  delay_ms: number | null;
};

/**
 * Range of transaction IDs from `from` (inclusive) to `to` (exclusive). The rows written by these transactions are
 * read.
 */
export type Range = { from: string; to: string };

const writtenIn = `xid8send(t.written_by) >= (select xid8send($1::xid8))
  and xid8send(t.written_by) < (select xid8send($2::xid8))`;

/** Look up each row separately by index: `offset 0` prevents a join that would read whole partitions. */
const sessionOf = `cross join lateral (
  select placement, device, os, country, custom, decision, offer_ids, created_at from sessions
  where day = t.day and id = t.session_id and not dev offset 0
) s`;

const earlier = (kind: string): string => `(
  select (extract(epoch from t.at - e.at) * 1000)::float8 from events e
  where e.day = t.day and e.session_id = t.session_id and e.offer_id = t.offer_id and e.kind = '${kind}'
)`;

const columns = `t.session_id::text as session_id, t.publisher_id, t.offer_id,
  (extract(epoch from t.at) * 1000)::float8 as at_ms, s.placement, s.device, s.os, s.country, s.custom,
  coalesce(array_position(s.offer_ids, t.offer_id), 1) as position,
  s.decision::json -> 3 ->> 'timeZone' as time_zone, s.decision::json -> 3 ->> 'loyalty' as loyalty,
  (extract(epoch from s.created_at) * 1000)::float8 as session_ms`;

/** Forces PostgreSQL to use the index on new rows instead of a sequential scan. */
const settingsSql = 'set local enable_seqscan = off; set local jit = off';

const lowest = (a: string, b: string): string => (BigInt(a) < BigInt(b) ? a : b);

/**
 * Limits for reading a part of a range. The part spans `most` transactions. If these contain more than `rows` events,
 * it spans fewer, but at least `least`.
 */
type Part = { rows: number; least: number; most: number };

/**
 * Returns the end of the part of a range that is read in one batch. Ranges are split because the number of rows per
 * transaction varies.
 */
export async function endOfRange(
  executor: Executor,
  { from, to }: Range,
  { rows, least, most }: Part,
): Promise<string> {
  for (let count = most; ; count = Math.max(least, Math.floor(count / 2))) {
    const end = lowest(to, String(BigInt(from) + BigInt(count)));
    if (count === least || !(await hasMoreEvents(executor, { from, to: end }, rows))) return end;
  }
}

/** Whether a range contains more than `count` events. */
export async function hasMoreEvents(executor: Executor, { from, to }: Range, count: number): Promise<boolean> {
  await executor.query(settingsSql);
  const text = `select from events t where ${writtenIn} offset $3 limit 1`;
  return (await executor.query({ name: 'learn_more_events', text, values: [from, to, count] })).rowCount === 1;
}

/** Reads the counted events of one kind, ordered by session. */
export async function readEvents(
  executor: Executor,
  kind: 'impression' | 'click',
  { from, to }: Range,
): Promise<Observation[]> {
  await executor.query(settingsSql);
  const delay = kind === 'click' ? earlier('impression') : 'null::float8';
  const { rows } = await executor.query<Observation>({
    name: `learn_${kind}s`,
    text: `select t.kind, ${columns}, 0 as revenue_micros, null as currency, ${delay} as delay_ms
      from events t ${sessionOf} where t.kind = '${kind}' and t.suspicious is null and ${writtenIn}
      order by t.session_id, t.offer_id`,
    values: [from, to],
  });
  return rows;
}

/**
 * Reads booked conversions. If a conversion is voided later, it is not unlearned, because the user did want the offer.
 */
export async function readConversions(executor: Executor, { from, to }: Range): Promise<Observation[]> {
  await executor.query(settingsSql);
  const { rows } = await executor.query<Observation>({
    name: 'learn_conversions',
    text: `select 'conversion' as kind, ${columns}, t.revenue_micros::float8 as revenue_micros,
        t.currency, ${earlier('click')} as delay_ms
      from bookings t ${sessionOf} where t.conversions = 1 and ${writtenIn} order by t.session_id, t.id`,
    values: [from, to],
  });
  return rows;
}

/** Number of requests to a publisher in one hour. `hour` is the number of hours since the epoch. */
export type RequestCount = { publisher_id: number; hour: number; requests: number };

/** Reads answered requests, ordered by hour. */
export async function readRequests(executor: Executor, { from, to }: Range): Promise<RequestCount[]> {
  if (from === to) return [];
  await executor.query(settingsSql);
  const { rows } = await executor.query<RequestCount>({
    name: 'learn_requests',
    text: `select publisher_id, floor(extract(epoch from created_at) / 3600)::integer as hour,
        count(*)::integer as requests
      from sessions t where not dev and ${writtenIn} group by 1, 2 order by 2, 1`,
    values: [from, to],
  });
  return rows;
}

/** Maximum number of unprocessed events to read in order to find their publishers. */
const maxWaiting = 1000;

/**
 * Returns the IDs of publishers with counted events that were stored since a given transaction and are older than a
 * given time.
 */
export async function findWaiting(executor: Executor, from: string, beforeMs: number): Promise<number[]> {
  await executor.query(settingsSql);
  const { rows } = await executor.query<{ publisher_id: number }>(
    `select distinct publisher_id from (
      select publisher_id from events t
      where xid8send(t.written_by) >= (select xid8send($1::xid8)) and t.at < $2 and t.suspicious is null
        and t.kind in ('impression', 'click')
      limit ${maxWaiting}
    ) as waiting order by 1`,
    [from, new Date(beforeMs)],
  );
  return rows.map(({ publisher_id: id }) => id);
}
