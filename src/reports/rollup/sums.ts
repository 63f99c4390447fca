import { addedSql, eachMetric, type MetricName, sumSql } from '../query/metrics.ts';
import { countsSql, quarterOf, shownSql } from './events.ts';
import { columnsOf, dayBit, keptGrains } from './grains.ts';

/*
 * How facts become rows of the rollups, in common table expressions that read one called `facts`. First facts are
 * summed by all
 * dimensions, which leaves few rows where many facts are alike; the grains are made of those.
 * A session counts once where no offer is asked for, and once for each offer it showed where one is.
 */

/**
 * Facts with the time zone whose hours and days they are counted in: the publisher's, and while its sums move to
 * another one
 * (`move-zone.ts`), that of the side their session is on.
 * @param isMoved a condition on facts: the sums of their session have moved
 */
export const placedBy = (isMoved: string): string => `
zones as materialized ( -- the check of a zone is dear: once for each publisher, not for each fact
  select publishers.id as publisher_id, usable_time_zone(coalesce(kept.time_zone, publishers.time_zone)) as zone,
    usable_time_zone(kept.next_zone) as next_zone, moved_day, moved_session
  from publishers left join rollup_publishers kept on kept.publisher_id = publishers.id
  where publishers.id in (select publisher_id from facts)
),
placed as not materialized (
  select facts.*, case when next_zone is not null and ${isMoved} then next_zone else zones.zone end as zone
  from facts join zones using (publisher_id)
)`;

/** The first session that has moved is in the row of the publisher. */
export const isMovedSession = '(day, session_id) >= (moved_day, moved_session)';

export const placedSql = placedBy(isMovedSession);

const sessionMetrics: ReadonlySet<MetricName> = new Set(['sessions', 'filled_sessions']);

const summed = (name: MetricName): string =>
  sessionMetrics.has(name)
    ? `case when grouping(offer_id) = 0 then sum_exact(shown) else ${sumSql(name)} end`
    : sumSql(name);

const bitOf = (bit: number, column: string): string => `case when grouping(${column}) = 0 then ${bit} else 0 end`;

const grainSql = [
  bitOf(1, 'placement'),
  bitOf(2, 'offer_id'),
  bitOf(4, 'country'),
  bitOf(8, 'device'),
  bitOf(dayBit, 'day_start'),
].join(' + ');

/** Read `placed`, give `by_grain`. */
export const sumsSql = `
sums as (
  select publisher_id, date_trunc('hour', quarter, zone) as hour_start, date_trunc('day', quarter, zone) as day_start, placement, offer_id,
    campaign_id, country, device, os, shown, ${eachMetric((name) => name)}
  from (
    select publisher_id, zone, ${quarterOf('at')} as quarter, placement, offer_id, max(campaign_id) as campaign_id, country, device, os,
      ${shownSql}, ${countsSql}
    from placed group by 1, 2, 3, placement, offer_id, country, device, os
  ) as by_all
),
by_grain as (
  select publisher_id, (${grainSql})::smallint as grain, case when grouping(day_start) = 0 then day_start else hour_start end as bucket,
    coalesce(placement, '') as placement, coalesce(offer_id, 0) as offer_id, coalesce(country, '') as country,
    coalesce(device, '') as device, coalesce(os, '') as os, case when grouping(offer_id) = 0 then max(campaign_id) else 0 end as campaign_id,
    ${eachMetric((name) => `${summed(name)} as ${name}`)}
  from sums
  group by grouping sets (${keptGrains.map((grain) => `(${columnsOf(grain)})`).join(', ')})
  having grouping(offer_id) = 1 or offer_id <> 0
)`;

/** The columns of a rollup before its metrics. */
export const rollupKey = 'publisher_id, grain, bucket, placement, offer_id, country, device, os';

/** Adds `by_grain` to the rollups, or takes it off them. */
export const rollupsWrittenSql = (sign: '' | '-'): string => `
rollups_written as (
  insert into rollups as kept (${rollupKey}, campaign_id, ${eachMetric((name) => name)})
  select ${rollupKey}, campaign_id, ${eachMetric((name) => `${sign}${name}`)} from by_grain
  on conflict (${rollupKey}) do update set ${addedSql}
)`;
