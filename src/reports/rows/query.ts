import { eventKinds } from '../../catalog/event-kinds.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, dayOf } from '../../platform/lib/time.ts';
import { firstUuid7At } from '../../platform/lib/uuid7.ts';
import type { DimensionName } from '../metrics.ts';
import { perkStageSql } from '../perk-stages.ts';
import { unknownValue } from '../query/source.ts';
import { attributesOf, currencyOf, longestDays, sessionOf } from '../rollup/events.ts';
import { namedValue } from '../rollup/statement.ts';

/** Which rows to list: those that a metric counts, those that it does not count, or both. */
export const rowStatuses = ['counted', 'excluded', 'all'] as const;
export type RowStatus = (typeof rowStatuses)[number];

/** Stages of the perk funnel, whose rows are sessions. */
export const perkMetrics = ['perks_selected', 'perks_confirmed', 'perks_delivered'] as const;
export type PerkMetric = (typeof perkMetrics)[number];

/** Metrics whose rows can be listed, with the tables that they count. */
const sources = {
  sessions: ['sessions'],
  filled_sessions: ['sessions'],
  conversions: ['bookings', 'suspicious'],
  revenue: ['paid_events', 'bookings', 'suspicious'],
  unbilled: ['paid_events', 'bookings'],
  ...(Object.fromEntries(Object.values(eventKinds).map(({ metric }) => [metric, ['events']])) as object),
  [eventKinds.impression.metric]: ['impressions'],
  ...(Object.fromEntries(perkMetrics.map((metric) => [metric, [metric]])) as object),
} as Readonly<Record<string, readonly Source[]>>;

type Source = 'sessions' | 'events' | 'impressions' | 'paid_events' | 'bookings' | 'suspicious' | PerkMetric;

const isOfPerks = (source: Source): source is PerkMetric => perkMetrics.some((metric) => metric === source);

export const rowMetrics: readonly string[] = Object.keys(sources);

export type RowsQuery = {
  publisherId: number;
  /** Metric whose rows are listed, from `rowMetrics`. */
  metric: string;
  status: RowStatus;
  /** Time range in epoch milliseconds. `endMs` is exclusive. */
  startMs: number;
  endMs: number;
  filters: Readonly<Partial<Record<DimensionName, readonly (string | number)[]>>>;
  custom: readonly { key: string; values: readonly string[] }[];
  /** Earliest session day whose rows are still stored, as yyyy-mm-dd. */
  storedFrom: string;
};

/** Stored row that a metric counts, or leaves out for a reason. Amounts are in millionths. */
export type ActivityRecord = {
  /** UTC day of the session. */
  day: string;
  session_id: string;
  row_key: string;
  at: Date;
  /** `session`, an event kind, `conversion` or `void`. */
  kind: string;
  /** ID of the offer, or 0 for a session. */
  offer_id: number;
  campaign_id: number;
  placement: string;
  country: string;
  device: string;
  os: string;
  counts: boolean;
  /** Reason why the row is not counted or not paid, or why a session is empty. Null if no reason applies. */
  reason: string | null;
  revenue_micros: string;
  unbilled_micros: string;
  currency: string;
  /** Name of a conversion, and the transaction ID of the advertiser. */
  event: string | null;
  txn_id: string | null;
};

/** Returns what reports count for a row: 1, 0 for an excluded row, or -1 for a void. */
export const countOf = ({ counts, kind }: { counts: boolean; kind: string }): number =>
  counts ? (kind === 'void' ? -1 : 1) : 0;

/** Position of a row in the order of a list: newest session first. */
export type RowCursor = { day: string; session_id: string; row_key: string };

export type RowsPage = { rows: ActivityRecord[]; next: RowCursor | null };

/** Time after which a page ends even if it has too few rows, in milliseconds. The next page continues there. */
const budgetMs = 1500;
/** Duration of a statement below which the next one reads twice as many days, in milliseconds. */
const quickMs = 40;
const maxDaysAtOnce = 64;

/**
 * Reads a page of rows, in the order of their sessions, newest first. Reads one day after the other through indexes, so
 * that a page costs the same with any number of stored rows.
 */
export async function readRows(
  executor: Executor,
  query: RowsQuery,
  { after, limit }: { after: RowCursor | null; limit: number },
  elapsedMs: () => number = () => performance.now(),
): Promise<RowsPage> {
  const untilMs = elapsedMs() + budgetMs;
  const lastDay = dayOf(query.endMs - 1);
  let high = after !== null && after.day < lastDay ? after.day : lastDay;
  const lowest = lowestDay(query);
  const rows: ActivityRecord[] = [];
  for (let days = 1; high >= lowest; ) {
    const low = laterOf(plusDays(high, 1 - days), lowest);
    const startMs = elapsedMs();
    rows.push(...(await readDays(executor, query, { low, high, after, limit: limit + 1 - rows.length })));
    if (rows.length > limit) return { rows: rows.slice(0, limit), next: cursorOf(rows[limit - 1] as ActivityRecord) };
    high = plusDays(low, -1);
    if (elapsedMs() > untilMs && high >= lowest)
      return { rows, next: { day: high, session_id: maxSession, row_key: '' } };
    days = elapsedMs() - startMs < quickMs ? Math.min(days * 2, maxDaysAtOnce) : Math.max(1, Math.floor(days / 2));
  }
  return { rows, next: null };
}

/** Session ID after all others, with which a page continues at the end of a day. */
const maxSession = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const cursorOf = ({ day, session_id, row_key }: ActivityRecord): RowCursor => ({ day, session_id, row_key });
const plusDays = (day: string, days: number): string => dayOf(Date.parse(day) + days * dayMs);
const laterOf = (a: string, b: string): string => (a > b ? a : b);

/** Returns the earliest session day of rows in the range. Conversions can come at any time after their session. */
function lowestDay({ metric, startMs, storedFrom }: RowsQuery): string {
  const [source] = sources[metric] ?? [];
  if (source === 'bookings' || source === 'paid_events') return storedFrom;
  const isOfSessions = source === 'sessions' || (source !== undefined && isOfPerks(source));
  return laterOf(storedFrom, dayOf(startMs - (isOfSessions ? 1 : longestDays) * dayMs));
}

type Span = { low: string; high: string; after: RowCursor | null; limit: number };

async function readDays(executor: Executor, query: RowsQuery, span: Span): Promise<ActivityRecord[]> {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const parts = (sources[query.metric] ?? []).flatMap((source) => partSql(source, query, span, bind));
  if (parts.length === 0) return [];
  const { rows } = await executor.query<ActivityRecord>(
    `select *, day::text as day from (${parts.map((part) => `(${part})`).join(' union all ')}) as rows
    order by rows.day desc, session_id desc, row_key desc limit ${span.limit}`,
    values,
  );
  return rows;
}

type Bind = (value: unknown) => string;

/** Columns of one source. `t` is its row, and `s` the session. */
type Columns = {
  /** SQL for the rows. `days` is a condition on all days, with which PostgreSQL plans no other partitions. */
  from: (days: string) => string;
  /** Row by whose publisher, day and session the source is searched and sorted. Defaults to `t`. */
  searched?: string;
  at: string;
  key: string;
  kind: string;
  counts: string;
  reason: string;
  rest: string;
};

const kindOfMetric = new Map<string, string>(Object.entries(eventKinds).map(([kind, { metric }]) => [metric, kind]));

const noMoney = `0::bigint as revenue_micros, 0::bigint as unbilled_micros, '' as currency`;
const money = (revenue: string): string =>
  `${revenue} as revenue_micros, coalesce(t.unbilled_micros, 0) as unbilled_micros,
  case when ${revenue} = 0 and coalesce(t.unbilled_micros, 0) = 0 then '' else ${currencyOf} end as currency`;
/** SQL for the amount of an event. The amount of a suspicious event is stored, but never booked. */
const eventRevenue = '(case when t.suspicious is null then coalesce(t.revenue_micros, 0) else 0 end)';
const event: Columns = {
  from: (days) => `events t left join lateral ${sessionOf(`${days} and day = t.day`)} s on true`,
  at: 't.at',
  key: `'e' || lpad(t.offer_id::text, 10, '0') || t.kind`,
  kind: 't.kind',
  counts: 't.suspicious is null',
  reason: `coalesce(t.suspicious, case when coalesce(t.unbilled_micros, 0) <> 0 then 'unbilled' end)`,
  rest: `t.offer_id, t.campaign_id, ${money(eventRevenue)}, null as event, null as txn_id`,
};

/** SQL condition of the index on the events of a publisher, which does not contain most impressions. */
const isIndexed = `(t.kind <> 'impression' or t.suspicious is not null or t.revenue_micros <> 0
  or t.unbilled_micros <> 0)`;

const notConfirmed = `when not ${perkStageSql.isConfirmed} then 'not_confirmed'`;

/** Columns of the sessions at a stage of the perk funnel. */
const perkColumns = (counts: string, reason: string): Columns => ({
  from: (days) => `usp_sessions t cross join lateral (
    select placement, country, device, os, custom, erased_attributes, dev, offer_ids, campaign_ids, created_at
    from sessions where ${days} and day = t.day and id = t.session_id offset 0) s`,
  at: 's.created_at',
  key: `''`,
  kind: `'session'`,
  counts,
  reason,
  rest: `0 as offer_id, 0 as campaign_id, ${noMoney}, null as event, null as txn_id`,
});

const columnsOf: Readonly<Record<Source, Columns>> = {
  perks_selected: perkColumns('true', 'null'),
  perks_confirmed: perkColumns(`(${perkStageSql.isConfirmed})`, `case ${notConfirmed} end`),
  perks_delivered: perkColumns(
    perkStageSql.isDelivered,
    `case ${notConfirmed} when not ${perkStageSql.isDelivered} then 'not_delivered' end`,
  ),
  sessions: {
    from: () => `(select id as session_id, * from sessions) t cross join lateral (
      select t.placement, t.country, t.device, t.os, ${attributesOf('t')} as custom, false as dev) s`,
    at: 't.created_at',
    key: `''`,
    kind: `'session'`,
    counts: 'not t.dev',
    reason: `case when t.dev then 'dev' when cardinality(t.offer_ids) = 0 then coalesce(t.empty_reason, 'unknown') end`,
    rest: `0 as offer_id, 0 as campaign_id, ${noMoney}, null as event, null as txn_id`,
  },
  events: event,
  impressions: {
    ...event,
    from: (days) => `(select id as session_id, * from sessions) owner cross join lateral (
      select * from events
      where ${days} and day = owner.day and session_id = owner.session_id and kind = 'impression' offset 0
    ) t cross join lateral (
      select owner.placement, owner.country, owner.device, owner.os, ${attributesOf('owner')} as custom, owner.dev) s`,
    searched: 'owner',
  },
  paid_events: event,
  bookings: {
    from: (days) => `bookings t left join lateral ${sessionOf(`${days} and day = t.day`)} s on true left join lateral (
      select event, txn_id, unbilled_reason from conversions
      where ${days} and day = t.day and session_id = t.session_id and id = t.id offset 0) c on true`,
    at: 't.at',
    key: `'b' || t.id`,
    kind: `case when t.conversions < 0 then 'void' else 'conversion' end`,
    counts: 'true',
    reason: `case when t.unbilled_micros <> 0 then 'unbilled_' || coalesce(c.unbilled_reason, 'budget') end`,
    rest: `t.offer_id, t.campaign_id, ${money('t.revenue_micros')}, c.event, c.txn_id`,
  },
  suspicious: {
    from: (days) => `conversions t left join lateral ${sessionOf(`${days} and day = t.day`)} s on true`,
    at: 't.booked_at',
    key: `'c' || t.id`,
    kind: `case when t.void then 'void' else 'conversion' end`,
    counts: 'false',
    reason: 't.suspicious',
    rest: `t.offer_id, t.campaign_id, ${noMoney}, t.event, t.txn_id`,
  },
};

/** Returns the statement for one source, or nothing if it has no rows with the status. */
function partSql(source: Source, query: RowsQuery, span: Span, bind: Bind): string[] {
  const { low, high, after, limit } = span;
  // Excluded impressions are in the index on the events of a publisher.
  if (source === 'impressions' && query.status === 'excluded') return partSql('events', query, span, bind);
  const { from, searched = 't', at, key, kind, counts, reason, rest } = columnsOf[source];
  const conditions = statusSql(source, query);
  if (conditions === null) return [];
  const days = `day between ${bind(low)}::date and ${bind(high)}::date`;
  const where = [
    `${searched}.${days}`,
    `${searched}.publisher_id = ${bind(query.publisherId)}`,
    // The perk funnel selects sessions by their IDs, which contain the time of the request.
    isOfPerks(source)
      ? `t.session_id >= ${bind(firstUuid7At(query.startMs))} and t.session_id < ${bind(firstUuid7At(query.endMs))}`
      : `${at} >= ${bind(new Date(query.startMs))} and ${at} < ${bind(new Date(query.endMs))}`,
    's.dev is not true',
    ...conditions,
    ...filterSql(source, query, bind),
  ];
  if (source === 'events') {
    const kindName = kindOfMetric.get(query.metric);
    where.push(kindName === 'own' ? `t.kind like 'own:%'` : `t.kind = ${bind(kindName)}`);
  }
  if (source === 'events' || source === 'paid_events') where.push(isIndexed);
  if (after !== null) {
    const [day, session] = [bind(after.day), bind(after.session_id)];
    // The first condition can use an index, the second is exact.
    where.push(`(${searched}.day, ${searched}.session_id) <= (${day}::date, ${session}::uuid)`);
    where.push(
      `(t.day, t.session_id, (${key}) collate "C") < (${day}::date, ${session}::uuid, ${bind(after.row_key)})`,
    );
  }
  return [
    `select t.day, t.session_id, (${key}) collate "C" as row_key, ${at} as at, ${kind} as kind,
      coalesce(s.placement, '') as placement, coalesce(s.country, '') as country, coalesce(s.device, '') as device,
      coalesce(s.os, '') as os, ${counts} as counts, ${reason} as reason, ${rest}
    from ${from(days)}
    where ${where.join(' and ')}
    order by ${searched}.day desc, ${searched}.session_id desc, 3 desc limit ${limit}`,
  ];
}

/** Returns the conditions for rows with the query's status, or null if the source has none. */
function statusSql(source: Source, { metric, status }: RowsQuery): string[] | null {
  if (source === 'suspicious') return status === 'counted' ? null : ['t.suspicious is not null'];
  if (source === 'paid_events' || source === 'bookings') {
    if (metric === 'conversions') return status === 'excluded' ? null : ['t.conversions <> 0'];
    const [counted, excluded] = ['coalesce(t.revenue_micros, 0) <> 0', 'coalesce(t.unbilled_micros, 0) <> 0'];
    const isSafe = source === 'paid_events' ? ['t.suspicious is null'] : [];
    if (metric === 'unbilled') return status === 'excluded' ? null : [excluded, ...isSafe];
    const amounts = { counted, excluded, all: `(${counted} or ${excluded})` };
    return [amounts[status], ...isSafe];
  }
  const { counts } = columnsOf[source];
  const filled = metric === 'filled_sessions' ? ['cardinality(t.offer_ids) > 0'] : [];
  if (status === 'all') return filled;
  return [...filled, status === 'counted' ? counts : `not (${counts})`];
}

function filterSql(source: Source, { filters, custom }: RowsQuery, bind: Bind): string[] {
  const ofPerks: string[] = [];
  const conditions = Object.entries(filters).flatMap(([name, values]) => {
    if (name === 'offer' || name === 'campaign') {
      const ids = `${bind(values)}::integer[]`;
      if (isOfPerks(source)) {
        ofPerks.push(`${name} = any(${ids})`);
        return [];
      }
      return source === 'sessions' ? `t.${name}_ids && ${ids}` : `t.${name}_id = any(${ids})`;
    }
    const texts = values.map((value) => (value === unknownValue ? '' : value));
    return `coalesce(s.${name}, '') = any(${bind(texts)}::text[])`;
  });
  const attributeSql = (key: string): string =>
    isOfPerks(source) ? perkStageSql.attribute(key) : namedValue(`(s.custom ->> ${key})`);
  const ofAttributes = custom.map(({ key, values }) => `${attributeSql(bind(key))} = any(${bind(values)}::text[])`);
  return [...conditions, ...ofAttributes, ...(isOfPerks(source) ? [perkStageSql.isSelected(ofPerks)] : [])];
}

/** Writes a cursor as text, for URLs. */
export const writeCursor = ({ day, session_id, row_key }: RowCursor): string => `${day}~${session_id}~${row_key}`;

const cursorPattern = /^(\d{4}-\d\d-\d\d)~([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})~([a-z0-9:_-]{0,80})$/;

/** Reads a cursor. Returns null if the text is not a cursor. */
export function readCursor(text: string): RowCursor | null {
  const [, day = '', session_id = '', row_key = ''] = cursorPattern.exec(text) ?? [];
  const atMs = Date.parse(day);
  return Number.isNaN(atMs) || dayOf(atMs) !== day ? null : { day, session_id, row_key };
}
