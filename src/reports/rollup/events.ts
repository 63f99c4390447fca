import { type EventMetric, eventKinds } from '../../catalog/event-kinds.ts';
import { eachMetric, type MetricName, sumSql } from '../query/metrics.ts';

/**
 * How long after its session something may be counted: clicks 30 days, conversions 30 days after them; and some room
 * (days).
 */
export const longestDays = 64;

/**
 * What happened, as SQL: one row for each thing, with the dimensions of its session. `kind` is `filled` or `empty` for
 * a session,
 * `shown` for each offer it showed, the event's kind, or `booking`. `reason` says why it does not count, `dev` or what
 * is suspicious
 * about it, or why a session is empty.
 * @param isMeant a condition on the raw rows of sessions, events and bookings; `t` is the row, `t.session_id` its
 *   session
 * @param fromDay an expression: no raw row is of an earlier day
 * @param sessionsFromDay the same for sessions that are counted themselves
 * @param openDays expressions: the days of the sessions that most events are of, where there are many
 */
export const happenedSql = (
  isMeant: string,
  fromDay: string,
  sessionsFromDay = fromDay,
  openDays: readonly string[] = [],
): string => `
select not t.dev as counts, t.day, t.session_id, t.publisher_id, t.created_at as at, t.placement, coalesce(t.country, '') as country, coalesce(t.device, '') as device,
  coalesce(t.os, '') as os, ${keysOf('t')} as custom, part.offer_id, part.campaign_id, part.kind, 1::bigint as times, 0::smallint as conversions,
  0::bigint as revenue_micros,
  case when t.dev then 'dev' when part.kind = 'empty' then coalesce(t.empty_reason, 'unknown') end as reason
from (select id as session_id, * from sessions) t
cross join lateral (
  select 0 as offer_id, 0 as campaign_id, case when cardinality(t.offer_ids) > 0 then 'filled' else 'empty' end as kind
  union all select offer_id, campaign_id, 'shown' from unnest(t.offer_ids, t.campaign_ids) as shown (offer_id, campaign_id)
) part
where t.day >= ${sessionsFromDay} and ${isMeant}
union all
${eventsSql(isMeant, fromDay, openDays)}
union all
select true, t.day, t.session_id, t.publisher_id, t.at, ${ofSession}, t.offer_id, t.campaign_id, 'booking', 1::bigint, t.conversions, t.revenue_micros, null
from bookings t left join lateral ${sessionOf(ofAnyDay(fromDay))} s on true
where s.dev is not true and t.day >= ${fromDay} and ${isMeant}`;

/*
 * A look for a session costs more the more partitions it is looked for in, even where all but one are passed over: of a
 * quarter of a
 * year twice as much as of one day. So events of open days are told from the rest; found first, because a condition on
 * their day
 * would lead away from the index of what is new.
 */
function eventsSql(isMeant: string, fromDay: string, openDays: readonly string[]): string {
  const found = `t.day >= ${fromDay} and ${isMeant}`;
  if (openDays.length === 0) return eventsOf('events', ofAnyDay(fromDay), found);
  const ofOpenDays = openDays.map((day) => eventsOf('meant', `day = ${day}`, `t.day = ${day}`));
  const ofTheRest = eventsOf('meant', ofAnyDay(fromDay), openDays.map((day) => `t.day <> ${day}`).join(' and '));
  return `(with meant as materialized (select * from events t where ${found}) ${[...ofOpenDays, ofTheRest].join(' union all ')})`;
}

const eventsOf = (events: string, isOfSession: string, isMeant: string): string => `
select t.suspicious is null, t.day, t.session_id, t.publisher_id, t.at, ${ofSession}, t.offer_id, t.campaign_id, t.kind, 1::bigint, 0::smallint,
  coalesce(t.revenue_micros, 0), t.suspicious
from ${events} t left join lateral ${sessionOf(isOfSession)} s on true
where s.dev is not true and ${isMeant}`;

/** What reports are made of: what happened and counts. */
export const factsSql = (isMeant: string, fromDay: string, sessionsFromDay = fromDay): string =>
  `select * from (${happenedSql(isMeant, fromDay, sessionsFromDay)}) as happened where counts`;

/**
 * Of raw rows: those that are in the rollups, because folds have passed their transactions. Whoever asks must hold off
 * folds, or share their snapshot.
 */
export const isFolded = `(t.written_by < (select upto from rollup_progress) and t.written_by <> all (array(select unnest(unfinished) from rollup_progress)))`;

const ofSession =
  "coalesce(s.placement, ''), coalesce(s.country, ''), coalesce(s.device, ''), coalesce(s.os, ''), s.custom";

/** A session's own keys; values that were erased are `other`. */
const keysOf = (session: string): string => `coalesce(${session}.custom, ${session}.forgotten)`;

const ofAnyDay = (fromDay: string): string => `day >= ${fromDay} and day = t.day`;

/** One index probe for each row: `offset 0` keeps it from becoming a join that reads whole partitions. */
const sessionOf = (isOfDay: string): string => `(
  select placement, country, device, os, ${keysOf('sessions')} as custom, dev from sessions
  where ${isOfDay} and id = t.session_id offset 0
)`;

const eventCounts = Object.fromEntries(
  Object.entries(eventKinds).map(([kind, { metric }]) => [metric, `sum_exact(times) filter (where kind = '${kind}')`]),
) as Record<EventMetric, string>;

const counts: Record<MetricName, string> = {
  sessions: "sum_exact(times) filter (where kind in ('filled', 'empty'))",
  filled_sessions: "sum_exact(times) filter (where kind = 'filled')",
  ...eventCounts,
  conversions: sumSql('conversions'),
  revenue_micros: sumSql('revenue_micros'),
};

/** The metrics of a group of facts. */
export const countsSql = eachMetric((name) => `${counts[name]} as ${name}`);

/** How often an offer was shown, beside `countsSql`. */
export const shownSql = "sum_exact(times) filter (where kind = 'shown') as shown";

/** The quarter of an hour a time is in. */
export const quarterOf = (at: string): string => `date_bin('15 minutes', ${at}, 'epoch'::timestamptz)`;
