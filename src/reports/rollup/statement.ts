import {
  addMetricsSql,
  eachMetric,
  type MetricName,
  metricColumns,
  metricsOfEventsSql,
  moneyMetrics,
  servedOfEventsSql,
  sumSql,
  sumsSql,
} from '../metrics.ts';
import { grainColumns, grainOfGroupSql, keptGrains } from './grains.ts';
import { customGrains, customRollupKey, rollupKey } from './keys.ts';
import { customMoneyWrittenCte, minuteMoneyWrittenCte, moneySumsCte, moneyWrittenCte } from './money.ts';
import { reachWrittenCte, usersOfEventsSql } from './reach.ts';
import { weekStartSql } from './weeks.ts';

/*
 * Events are added to the rollups by one statement. Its common table expressions read each other in this order:
 *
 * all_events → reconciliation
 * all_events → counted_events → zoned_events → base_sums → grain_sums → rollups
 * base_sums → money_sums → rollup_money
 * zoned_events → attribute_sums → new_values, new_keys, admitted_values → named_sums → custom_rollups
 * named_sums → custom_rollup_money
 * zoned_events → reach_pending
 * counted_events → rollup_publishers, minute_rollups, minute_money
 *
 * A session counts once in groups without an offer. In groups by offer, it counts once for each offer that it showed.
 */

export const reconciliationKey = 'day, publisher_id, kind, reason';

/**
 * Maximum number of values per attribute and UTC day that get their own rows. Further values are counted as `other`.
 */
export const maxValues = 1000;
/**
 * Maximum number of reported attributes per publisher and UTC day. The limit is required because anyone who knows an
 * SDK ID can send arbitrary attributes.
 */
const maxKeys = 50;
/** Maximum length of an attribute value, in characters. Longer values are counted as `other`. */
const maxValueLength = 128;

export const otherValue = 'other';

/** SQL for the name under which an attribute value is reported. */
export const namedValue = (value: string): string =>
  `case when char_length(${value}) > ${maxValueLength} then '${otherValue}' else ${value} end`;

/**
 * SQL for the start of the quarter-hour that contains a time. A quarter-hour is the longest span that lies within a
 * single hour in every time zone.
 */
export const quarterHourOf = (at: string): string => `date_bin('15 minutes', ${at}, 'epoch'::timestamptz)`;

/** SQL condition for sessions that are already counted in the publisher's new time zone (`rebucket.ts`). */
export const isRebucketed = '(day, session_id) >= (rebucketed_from_day, rebucketed_from_session)';

/*
 * Events with the same values in all reported columns become one row, so that only the session lookup is done per
 * event.
 */
const allEventsCte = (eventsSql: string, sign: '' | '-', minutesFrom: string): string => `
all_events as materialized (
  select counts, day, publisher_id,
    exists (select from rollup_publishers where next_time_zone is not null) and exists (
      select from rollup_publishers moving
      where moving.publisher_id = event.publisher_id and next_time_zone is not null and ${isRebucketed}
    ) as rebucketed,
    case when at >= ${minutesFrom} then date_bin('1 minute', at, 'epoch'::timestamptz)
      else ${quarterHourOf('at')} end as at,
    placement, country, device, os, custom, offer_id, max(campaign_id) as campaign_id, kind, reason, currency,
    ${sign}sum_exact(occurrences) as occurrences, ${sign}sum_exact(conversions) as conversions,
    ${moneyMetrics.map((name) => `${sign}sum(${name}) as ${name}`).join(', ')}, ${usersOfEventsSql}
  from (${eventsSql}) as event
  group by counts, day, publisher_id, rebucketed, 5, placement, country, device, os, custom, offer_id, kind, reason,
    currency
),
counted_events as not materialized (select * from all_events where counts)`;

/*
 * Number of events by the day of their session, including uncounted ones. Bookings are left out, because tracking
 * reconciles them.
 */
const outcomesCte = `
outcomes as (
  select day, publisher_id, kind, coalesce(reason, '') as reason, sum_exact(occurrences) as count
  from all_events where kind <> 'booking' group by 1, 2, 3, 4
)`;

const reconciliationWrittenCte = `
reconciliation_written as (
  insert into reconciliation as kept (${reconciliationKey}, count)
  select ${reconciliationKey}, count from outcomes
  on conflict (${reconciliationKey}) do update set count = kept.count + excluded.count
)`;

/*
 * Adds to each event the time zone of its hour and day. A time zone is validated once per publisher, because validation
 * is expensive.
 */
export const zonedEventsCte = (isRebucketed: string): string => `
zones as materialized (
  select publishers.id as publisher_id, time_zone_or_utc(coalesce(kept.time_zone, publishers.time_zone)) as zone,
    time_zone_or_utc(kept.next_time_zone) as next_zone, rebucketed_from_day, rebucketed_from_session
  from publishers left join rollup_publishers kept on kept.publisher_id = publishers.id
  where publishers.id in (select publisher_id from counted_events)
),
zoned_events as not materialized (
  select counted_events.*,
    case when next_zone is not null and ${isRebucketed} then next_zone else zones.zone end as zone
  from counted_events join zones using (publisher_id)
)`;

const sessionMetrics: ReadonlySet<MetricName> = new Set(['sessions', 'filled_sessions']);

const grainSumSql = (name: MetricName): string =>
  sessionMetrics.has(name)
    ? `case when grouping(offer_id) = 0 then sum_exact(served) else ${sumSql(name)} end`
    : sumSql(name);

/*
 * Adds up events by all dimensions, which yields few rows if many events have the same values. Then computes the
 * totals of each grain from these rows.
 */
const grainSumsCte = `
base_sums as (
  select publisher_id, date_trunc('hour', quarter_hour, zone) as hour_start,
    date_trunc('day', quarter_hour, zone) as day_start,
    ${weekStartSql("date_trunc('day', quarter_hour, zone)")} as week_start,
    placement, offer_id, campaign_id, country, device, os, currency, served, ${metricColumns}
  from (
    select publisher_id, zone, ${quarterHourOf('at')} as quarter_hour, placement, offer_id,
      max(campaign_id) as campaign_id, country, device, os, currency, ${servedOfEventsSql}, ${metricsOfEventsSql}
    from zoned_events group by 1, 2, 3, placement, offer_id, country, device, os, currency
  ) as by_quarter_hour
),
grain_sums as (
  select publisher_id,
    (${grainOfGroupSql})::smallint as grain,
    coalesce(hour_start, day_start, week_start) as bucket,
    coalesce(placement, '') as placement, coalesce(offer_id, 0) as offer_id, coalesce(country, '') as country,
    coalesce(device, '') as device, coalesce(os, '') as os,
    case when grouping(offer_id) = 0 then max(campaign_id) else 0 end as campaign_id,
    ${eachMetric((name) => `${grainSumSql(name)} as ${name}`)}
  from base_sums
  group by grouping sets (${keptGrains.map((grain) => `(${grainColumns(grain)})`).join(', ')})
  having grouping(offer_id) = 1 or offer_id <> 0
)`;

const rollupsWrittenCte = `
rollups_written as (
  insert into rollups as kept (${rollupKey}, campaign_id, ${metricColumns})
  select ${rollupKey}, campaign_id, ${metricColumns} from grain_sums
  on conflict (${rollupKey}) do update set ${addMetricsSql}
)`;

/* Adds up events by custom attribute value, as sent by the publisher. */
const attributeSumsCte = `
attribute_sums as (
  select publisher_id, zone, ${quarterHourOf('at')} as quarter_hour,
    (${quarterHourOf('at')} at time zone 'UTC')::date as day, attribute.key,
    ${namedValue('attribute.value')} as value, currency, ${metricsOfEventsSql}
  from zoned_events cross join lateral jsonb_each_text(custom) as attribute
  where custom is not null and kind <> 'served'
  group by 1, 2, 3, 4, 5, 6, currency
)`;

const sameKey = (a: string, b: string): string =>
  `(${a}.day, ${a}.publisher_id, ${a}.key) = (${b}.day, ${b}.publisher_id, ${b}.key)`;
const sameValue = (a: string, b: string): string => `${sameKey(a, b)} and ${a}.value = ${b}.value`;

/* Values that get their own rows from now on: the most frequent values of each attribute, within the daily limits. */
const admittedValuesCte = `
new_values as (
  select publisher_id, day, key, value,
    row_number() over (partition by publisher_id, day, key order by sum(sessions) desc, value) as rank
  from attribute_sums
  where not exists (select from custom_values known where ${sameValue('known', 'attribute_sums')})
  group by publisher_id, day, key, value
),
new_keys as (
  select publisher_id, day, key, values_kept, keys_kept,
    row_number() over (partition by publisher_id, day, values_kept = 0 order by key) as rank
  from (select distinct publisher_id, day, key from new_values) as keys
  cross join lateral (
    select count(*) filter (where known.key = keys.key) as values_kept, count(distinct known.key) as keys_kept
    from custom_values known where known.day = keys.day and known.publisher_id = keys.publisher_id
  ) as kept
),
admitted_values as (
  insert into custom_values (day, publisher_id, key, value)
  select day, publisher_id, key, value from new_values join new_keys using (publisher_id, day, key)
  where new_values.rank + values_kept <= ${maxValues}
    and (values_kept > 0 or new_keys.rank + keys_kept <= ${maxKeys})
  returning day, publisher_id, key, value
)`;

/* A recount looks up the values under their current names. */
const noAdmittedValuesCte = 'admitted_values as (select day, publisher_id, key, value from custom_values where false)';

/* Adds up the totals of each value under its reported name. */
const namedSumsCte = `
named_sums as (
  select publisher_id, zone, quarter_hour, key, coalesce(found.value, '${otherValue}') as value, currency,
    ${eachMetric((name) => `attribute_sums.${name}`)}
  from attribute_sums
  left join lateral (
    select value from admitted_values where ${sameValue('admitted_values', 'attribute_sums')}
    union all
    select value from custom_values known where ${sameValue('known', 'attribute_sums')}
  ) found on true
  where found.value is not null
    or exists (select from admitted_values where ${sameKey('admitted_values', 'attribute_sums')})
    or exists (select from custom_values known where ${sameKey('known', 'attribute_sums')})
)`;

const customRollupsWrittenCte = `
custom_rollups_written as (
  insert into custom_rollups as kept (${customRollupKey}, ${metricColumns})
  select publisher_id, key, grain, date_trunc(unit, quarter_hour, zone), value, ${sumsSql}
  from named_sums cross join ${customGrains}
  group by 1, 2, 3, 4, 5
  on conflict (${customRollupKey}) do update set ${addMetricsSql}
)`;

/* Records publishers that are counted for the first time, and the minutes of the live view. */
const publishersWrittenCte = `
publishers_written as (
  insert into rollup_publishers (publisher_id, time_zone, compacted_until)
  select id, time_zone, (select min(at) at time zone 'UTC' from counted_events)::date - 1 from publishers
  where id in (select publisher_id from counted_events) and id not in (select publisher_id from rollup_publishers)
)`;

const minutesWrittenCte = (minutesFrom: string): string => `
minutes_written as (
  insert into minute_rollups as kept (publisher_id, minute, ${metricColumns})
  select publisher_id, at, ${metricsOfEventsSql} from counted_events
  where at >= ${minutesFrom} and kind <> 'served' group by 1, 2
  on conflict (publisher_id, minute) do update set ${addMetricsSql}
)`;

const statementOf = (ctes: readonly string[]): string => `
with ${ctes.join(',')}
select coalesce(sum_exact(occurrences), 0)::int as events from all_events`;

/**
 * Builds SQL that adds new events to all rollups.
 * @param eventsSql query that returns the new events, one per row
 * @param minutesFrom SQL expression for the first minute in the live view
 */
export const rollupSql = (eventsSql: string, minutesFrom: string): string =>
  statementOf([
    allEventsCte(eventsSql, '', minutesFrom),
    outcomesCte,
    reconciliationWrittenCte,
    zonedEventsCte('rebucketed'),
    grainSumsCte,
    rollupsWrittenCte,
    moneySumsCte,
    moneyWrittenCte,
    attributeSumsCte,
    admittedValuesCte,
    namedSumsCte,
    customRollupsWrittenCte,
    customMoneyWrittenCte,
    publishersWrittenCte,
    minutesWrittenCte(minutesFrom),
    minuteMoneyWrittenCte(minutesFrom),
    reachWrittenCte(''),
  ]);

/**
 * Builds SQL that adds events to the report rollups again, or subtracts them.
 * @param eventsSql query that returns the events, one per row
 * @param reconciles whether the reconciliation changes as well
 */
export const recountSql = (eventsSql: string, sign: '' | '-', { reconciles }: { reconciles: boolean }): string =>
  statementOf([
    allEventsCte(eventsSql, sign, "'infinity'::timestamptz"),
    ...(reconciles ? [outcomesCte, reconciliationWrittenCte] : []),
    zonedEventsCte('rebucketed'),
    grainSumsCte,
    rollupsWrittenCte,
    moneySumsCte,
    moneyWrittenCte,
    attributeSumsCte,
    noAdmittedValuesCte,
    namedSumsCte,
    customRollupsWrittenCte,
    customMoneyWrittenCte,
    reachWrittenCte(sign),
  ]);

/**
 * Builds common table expressions that compute the same rollups without writing them. The placeholders in `eventsSql`
 * refer to the caller's parameters.
 */
export const computedSumsCtes = (eventsSql: string): string =>
  [
    allEventsCte(eventsSql, '', "'infinity'::timestamptz"),
    outcomesCte,
    zonedEventsCte('rebucketed'),
    grainSumsCte,
    moneySumsCte,
    attributeSumsCte,
    noAdmittedValuesCte,
    namedSumsCte,
  ].join(',');
