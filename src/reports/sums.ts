import { countsSql, quarterOf } from './facts.ts';
import { columnsOf, dayBit, keptGrains } from './grains.ts';
import { eachMetric, type MetricName } from './metrics.ts';

/*
 * How facts become rows of the rollups, in three common table expressions that read one called `facts`. First facts are
 * summed by all dimensions, which leaves few rows where many facts are alike; the grains are made of those.
 * A session counts once where no offer is asked for, and once for each offer it showed where one is.
 */

const sessionMetrics: ReadonlySet<MetricName> = new Set(['sessions', 'filled_sessions']);

const summed = (name: MetricName): string =>
  sessionMetrics.has(name) ? `case when grouping(offer_id) = 0 then sum(shown) else sum(${name}) end` : `sum(${name})`;

const bitOf = (bit: number, column: string): string => `case when grouping(${column}) = 0 then ${bit} else 0 end`;

const grainSql = [bitOf(1, 'placement'), bitOf(2, 'offer_id'), bitOf(4, 'country'), bitOf(8, 'device'), bitOf(dayBit, 'day_start')].join(
  ' + ',
);

export const sumsSql = `
zones as (
  select id as publisher_id, usable_time_zone(time_zone) as zone from publishers where id in (select publisher_id from facts)
),
sums as (
  select publisher_id, quarter, date_trunc('day', quarter, zone) as day_start, placement, offer_id, campaign_id, country, device, os,
    shown, ${eachMetric((name) => name)}
  from (
    select publisher_id, ${quarterOf('at')} as quarter, placement, offer_id, max(campaign_id) as campaign_id, country, device, os,
      count(*) filter (where kind = 'shown') as shown, ${countsSql}
    from facts group by 1, 2, placement, offer_id, country, device, os
  ) as by_all join zones using (publisher_id)
),
by_grain as (
  select publisher_id, (${grainSql})::smallint as grain, case when grouping(day_start) = 0 then day_start else quarter end as bucket,
    coalesce(placement, '') as placement, coalesce(offer_id, 0) as offer_id, coalesce(country, '') as country,
    coalesce(device, '') as device, coalesce(os, '') as os, case when grouping(offer_id) = 0 then max(campaign_id) else 0 end as campaign_id,
    ${eachMetric((name) => `(${summed(name)})::bigint as ${name}`)}
  from sums
  group by grouping sets (${keptGrains.map((grain) => `(${columnsOf(grain)})`).join(', ')})
  having grouping(offer_id) = 1 or offer_id <> 0
)`;

/** The columns of a rollup before its metrics. */
export const rollupKey = 'publisher_id, grain, bucket, placement, offer_id, country, device, os';
