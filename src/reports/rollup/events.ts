import { unknownCurrency } from '../../platform/money.ts';

/**
 * Maximum number of days between a session and an event that is counted for it. Clicks are counted for 30 days, and the
 * rest is a safety margin. Bookings have no limit.
 */
export const longestDays = 64;

type EventsOptions = {
  /** SQL condition on the raw rows of sessions, events and bookings. `t` is the row, and `t.session_id` its session. */
  condition: string;
  /**
   * SQL expression for the earliest session day to consider for sessions and events. Bookings may belong to older
   * sessions, because voids have no age limit.
   */
  fromDay: string;
  /** SQL expression for the earliest day on which sessions themselves are counted. Defaults to `fromDay`. */
  sessionsFromDay?: string;
  /** SQL expressions for the days to which the sessions of most events belong. Set this if there are many events. */
  openDays?: readonly string[];
};

/**
 * Builds SQL that returns raw rows as events, with the dimensions of their session. `kind` is `filled` or `empty` for a
 * session, `served` for each offer in a session, an event kind from `catalog/event-kinds.ts`, or `booking`. If `counts`
 * is false, `reason` explains why. For empty sessions, `reason` is the empty reason.
 */
export const allEventsSql = (options: EventsOptions): string => `
${sessionEventsSql(options)}
union all
${trackingEventsSql(options)}
union all
${bookingEventsSql(options)}`;

/** Builds SQL that returns only the events that count in reports. */
export const countedEventsSql = (options: EventsOptions): string =>
  `select * from (${allEventsSql(options)}) as all_events where counts`;

/**
 * SQL condition for raw rows that are already rolled up. Use it only while no rollup can commit, or in a snapshot that
 * also contains the rollups.
 */
export const isRolledUp = `(
  t.written_by < (select until_xid from rollup_progress)
  and t.written_by <> all (array(select unnest(open_xids) from rollup_progress))
)`;

/** SQL for the custom attributes of a session. Erased values are reported as `other`. */
export const attributesOf = (session: string): string => `coalesce(${session}.custom, ${session}.erased_attributes)`;

/** SQL that returns one event for each session and one for each offer in the session. */
const sessionEventsSql = ({ condition, fromDay, sessionsFromDay = fromDay }: EventsOptions): string => `
select not t.dev as counts, t.day, t.session_id, t.publisher_id, t.created_at as at,
  t.placement, coalesce(t.country, '') as country, coalesce(t.device, '') as device, coalesce(t.os, '') as os,
  ${attributesOf('t')} as custom, part.offer_id, part.campaign_id, part.kind,
  1::bigint as occurrences, 0::smallint as conversions, 0::bigint as revenue_micros,
  0::bigint as unbilled_micros, '' as currency,
  case when t.dev then 'dev' when part.kind = 'empty' then coalesce(t.empty_reason, 'unknown') end as reason,
  t.user_key
from (select id as session_id, * from sessions) t
cross join lateral (
  select 0 as offer_id, 0 as campaign_id, case when cardinality(t.offer_ids) > 0 then 'filled' else 'empty' end as kind
  union all
  select offer_id, campaign_id, 'served' from unnest(t.offer_ids, t.campaign_ids) as served (offer_id, campaign_id)
) part
where t.day >= ${sessionsFromDay} and ${condition}`;

/** Builds SQL that returns the counted impressions, with the user keys of their sessions. */
export const countedImpressionsSql = ({ condition, ...options }: EventsOptions): string => `
select * from (
  ${trackingEventsSql({ ...options, condition: `${condition} and t.kind = 'impression'` })}
) as events (
  counts, day, session_id, publisher_id, at, placement, country, device, os, custom, offer_id, campaign_id, kind,
  occurrences, conversions, revenue_micros, unbilled_micros, currency, reason, user_key
) where counts`;

/**
 * SQL for tracking events. The cost of finding a session grows with the number of partitions to consider, even if all
 * but one are skipped: with three months of partitions, it is twice as high as with one day. Events from open days are
 * therefore looked up separately, but only after the events themselves have been found. A condition on their day would
 * prevent PostgreSQL from using the index on new rows.
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
  case when coalesce(t.revenue_micros, t.unbilled_micros, 0) = 0 then '' else ${currencyOf} end, t.suspicious,
  s.user_key
from ${table} t left join lateral ${sessionOf(isDayOfSession)} s on true
where s.dev is not true and ${isIncluded}`;

const bookingEventsSql = ({ condition }: EventsOptions): string => `
select true, t.day, t.session_id, t.publisher_id, t.at, ${sessionColumns}, t.offer_id, t.campaign_id,
  'booking', 1::bigint, t.conversions, t.revenue_micros, t.unbilled_micros,
  case when t.revenue_micros = 0 and t.unbilled_micros = 0 then '' else ${currencyOf} end, null, s.user_key
from bookings t left join lateral ${sessionOf('day = t.day')} s on true
where s.dev is not true and ${condition}`;

/** SQL for the currency of a row `t`. Rows from earlier releases have none, so the campaign's currency is used. */
export const currencyOf = `
  coalesce(t.currency, (select payout_currency from campaigns where id = t.campaign_id), '${unknownCurrency}')`;

const sessionColumns = `coalesce(s.placement, ''), coalesce(s.country, ''), coalesce(s.device, ''),
  coalesce(s.os, ''), s.custom`;

const ofAnyDay = (fromDay: string): string => `day >= ${fromDay} and day = t.day`;

/**
 * SQL for the session of a row `t`. Uses one index lookup per row. `offset 0` prevents PostgreSQL from using a join,
 * which would read entire partitions.
 */
export const sessionOf = (isDayOfSession: string): string => `(
  select placement, country, device, os, ${attributesOf('sessions')} as custom, dev, user_key from sessions
  where ${isDayOfSession} and id = t.session_id offset 0
)`;
