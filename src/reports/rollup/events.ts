import { unknownCurrency } from '../../platform/money.ts';

/**
 * Maximum time between a session and a counted event, with a reserve: clicks count for 30 days. Bookings have no limit.
 */
export const longestDays = 64;

type EventsOptions = {
  /** Condition on the raw rows of sessions, events and bookings; `t` is the row, `t.session_id` its session. */
  condition: string;
  /** SQL expression: no session or event is of an earlier day. Bookings may be, because voids have no age limit. */
  fromDay: string;
  /** The same for sessions that are counted themselves. */
  sessionsFromDay?: string;
  /** SQL expressions: days of the sessions that most events belong to, if there are many events. */
  openDays?: readonly string[];
};

/**
 * SQL of raw rows as events, with the dimensions of their session. `kind` is `filled` or `empty` for a session,
 * `served` for each offer it showed, a kind of `catalog/event-kinds.ts`, or `booking`. If `counts` is false, `reason`
 * says why; for empty sessions it is the empty reason.
 */
export const allEventsSql = (options: EventsOptions): string => `
${sessionEventsSql(options)}
union all
${trackingEventsSql(options)}
union all
${bookingEventsSql(options)}`;

/** SQL of the events that count in reports. */
export const countedEventsSql = (options: EventsOptions): string =>
  `select * from (${allEventsSql(options)}) as all_events where counts`;

/**
 * SQL condition for raw rows that are rolled up. Use it only while no rollup commits, or on a snapshot shared with the
 * rollups.
 */
export const isRolledUp = `(
  t.written_by < (select until_xid from rollup_progress)
  and t.written_by <> all (array(select unnest(open_xids) from rollup_progress))
)`;

/** SQL of the custom attributes of a session; erased values are `other`. */
const attributesOf = (session: string): string => `coalesce(${session}.custom, ${session}.erased_attributes)`;

/** SQL of a counted session, and of each offer it showed. */
const sessionEventsSql = ({ condition, fromDay, sessionsFromDay = fromDay }: EventsOptions): string => `
select not t.dev as counts, t.day, t.session_id, t.publisher_id, t.created_at as at,
  t.placement, coalesce(t.country, '') as country, coalesce(t.device, '') as device, coalesce(t.os, '') as os,
  ${attributesOf('t')} as custom, part.offer_id, part.campaign_id, part.kind,
  1::bigint as occurrences, 0::smallint as conversions, 0::bigint as revenue_micros,
  0::bigint as unbilled_micros, '' as currency,
  case when t.dev then 'dev' when part.kind = 'empty' then coalesce(t.empty_reason, 'unknown') end as reason
from (select id as session_id, * from sessions) t
cross join lateral (
  select 0 as offer_id, 0 as campaign_id, case when cardinality(t.offer_ids) > 0 then 'filled' else 'empty' end as kind
  union all
  select offer_id, campaign_id, 'served' from unnest(t.offer_ids, t.campaign_ids) as served (offer_id, campaign_id)
) part
where t.day >= ${sessionsFromDay} and ${condition}`;

/**
 * SQL of tracking events. Finding a session costs more with more partitions to search, even if all but one are skipped:
 * twice as much for a quarter of a year as for one day. So events of open days are separated from the rest after they
 * were found, because a condition on their day would keep PostgreSQL from using the index of new rows.
 */
function trackingEventsSql({ condition, fromDay, openDays = [] }: EventsOptions): string {
  const isIncluded = `t.day >= ${fromDay} and ${condition}`;
  if (openDays.length === 0) return eventsOf('events', ofAnyDay(fromDay), isIncluded);
  const ofOpenDays = openDays.map((day) => eventsOf('included', `day = ${day}`, `t.day = ${day}`));
  const ofOtherDays = eventsOf('included', ofAnyDay(fromDay), openDays.map((day) => `t.day <> ${day}`).join(' and '));
  return `(
with included as materialized (select * from events t where ${isIncluded})
${[...ofOpenDays, ofOtherDays].join(' union all ')}
)`;
}

const eventsOf = (table: string, isDayOfSession: string, isIncluded: string): string => `
select t.suspicious is null, t.day, t.session_id, t.publisher_id, t.at, ${sessionColumns}, t.offer_id, t.campaign_id,
  t.kind, 1::bigint, 0::smallint, coalesce(t.revenue_micros, 0), coalesce(t.unbilled_micros, 0),
  case when coalesce(t.revenue_micros, t.unbilled_micros, 0) = 0 then '' else ${currencyOf} end, t.suspicious
from ${table} t left join lateral ${sessionOf(isDayOfSession)} s on true
where s.dev is not true and ${isIncluded}`;

const bookingEventsSql = ({ condition }: EventsOptions): string => `
select true, t.day, t.session_id, t.publisher_id, t.at, ${sessionColumns}, t.offer_id, t.campaign_id,
  'booking', 1::bigint, t.conversions, t.revenue_micros, t.unbilled_micros,
  case when t.revenue_micros = 0 and t.unbilled_micros = 0 then '' else ${currencyOf} end, null
from bookings t left join lateral ${sessionOf('day = t.day')} s on true
where s.dev is not true and ${condition}`;

/** Rows of earlier releases have no currency; theirs is that of the campaign. */
const currencyOf = `
  coalesce(t.currency, (select payout_currency from campaigns where id = t.campaign_id), '${unknownCurrency}')`;

const sessionColumns = `coalesce(s.placement, ''), coalesce(s.country, ''), coalesce(s.device, ''),
  coalesce(s.os, ''), s.custom`;

const ofAnyDay = (fromDay: string): string => `day >= ${fromDay} and day = t.day`;

/** One index lookup for each row: `offset 0` prevents a join that would read whole partitions. */
const sessionOf = (isDayOfSession: string): string => `(
  select placement, country, device, os, ${attributesOf('sessions')} as custom, dev from sessions
  where ${isDayOfSession} and id = t.session_id offset 0
)`;
