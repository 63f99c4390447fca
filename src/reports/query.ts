import type { Executor } from '../db/pool.ts';
import { maxValues, otherValue } from './custom.ts';
import { type DimensionName, dimensionNames, eachMetric, type Metrics, metricNames } from './metrics.ts';
import { dimensionColumns, sourceOf, sourceSql, topValuesSql, unknownValue } from './source.ts';

export type Aggregation = 'day' | 'hour';

/** A question about one publisher's activity. */
export type ActivityQuery = {
  publisherId: number;
  /** First and last day, `2026-11-21`, of the time zone. */
  from: string;
  to: string;
  aggregatedBy: Aggregation;
  /** `custom` stands for the publisher's own key named by `customKey`. */
  groupBy: readonly (DimensionName | 'custom')[];
  /** Values that count, by dimension; ids for campaigns and offers. */
  filters: Partial<Record<DimensionName, readonly (string | number)[]>>;
  customKey: string | null;
  customValues: readonly string[] | null;
  /** IANA name; one this server does not know counts as UTC. */
  timeZone: string;
};

/** The sums of one day or hour and one value of each dimension grouped by. */
export type ActivityRow = {
  /** `2026-11-21`, or for hours `2026-11-21T13:00:00+05:45`: a day of 25 hours has two of the same name. */
  time: string;
  startMs: number;
  /** In the order of `groupBy`. */
  group: readonly (string | number)[];
  metrics: Metrics;
};

type Row = { start_s: string; local_s: string; [column: string]: unknown };

/**
 * Sums of activity by time and dimensions, in the order of time, then of the dimensions; without activity no row. At most
 * `limit` rows are read; one more than `limit` means that there are more.
 */
export async function queryActivity(executor: Executor, query: ActivityQuery, limit = 50_000): Promise<ActivityRow[]> {
  const range = await readRange(executor, query);
  const values: unknown[] = [query.publisherId, range.start, range.end];
  const source = sourceSql(sourceOf(query), query, values);
  const groups = query.groupBy.map((name, index) => `${groupSql(name)} as group_${index}`);
  const unit = `$${values.push(query.aggregatedBy)}`;
  const zone = `$${values.push(range.zone)}`;
  const positions = ['slot', ...query.groupBy.map((_, index) => `group_${index}`)].join(', ');
  const byKey = query.groupBy.includes('custom');
  const { rows } = await executor.query<Row>(
    `with slots as materialized (
  select quarter, date_trunc(${unit}, quarter, ${zone}) as slot
  from generate_series($2::timestamptz, $3::timestamptz - interval '15 minutes', interval '15 minutes') as quarter
),
source as ${byKey ? 'materialized' : 'not materialized'} (${source})${byKey ? `,${topValuesSql(maxValues)}` : ''}
select extract(epoch from slot)::bigint as start_s, extract(epoch from slot at time zone ${zone})::bigint as local_s, summed.*
from (
  select ${['slot', ...groups].join(', ')}, ${eachMetric((name) => `sum(${name})::bigint as ${name}`)}
  from source join slots on slots.quarter = source.bucket
  group by ${positions}
) as summed
order by ${positions} limit ${limit + 1}`,
    values,
  );
  return rows.map((row) => toActivityRow(row, query));
}

type Range = { start: Date; end: Date; zone: string };

/** The instants at which the first day begins and the last one ends. */
async function readRange(executor: Executor, { from, to, timeZone }: ActivityQuery): Promise<Range> {
  const { rows } = await executor.query<Range>({
    name: 'report_range',
    text: `select zone, $1::date::timestamp at time zone zone as start, ($2::date + 1)::timestamp at time zone zone as end
from (select usable_time_zone($3) as zone) as usable`,
    values: [from, to, timeZone],
  });
  return rows[0] as Range;
}

const groupSql = (name: DimensionName | 'custom'): string => {
  if (name === 'custom') return `case when value in (select value from top) then value else '${otherValue}' end`;
  return name === 'campaign' || name === 'offer'
    ? dimensionColumns[name]
    : `coalesce(nullif(${dimensionColumns[name]}, ''), '${unknownValue}')`;
};

function toActivityRow(row: Row, { groupBy, aggregatedBy }: ActivityQuery): ActivityRow {
  const startMs = Number(row.start_s) * 1000;
  const localMs = Number(row.local_s) * 1000;
  const metrics = Object.fromEntries(metricNames.map((name) => [name, Number(row[name])])) as Metrics;
  return {
    time: aggregatedBy === 'day' ? new Date(localMs).toISOString().slice(0, 10) : timeOf(localMs, localMs - startMs),
    startMs,
    group: groupBy.map((_, index) => row[`group_${index}`] as string | number),
    metrics,
  };
}

/** ISO 8601 with the offset of the place. */
function timeOf(localMs: number, offsetMs: number): string {
  const minutes = Math.abs(offsetMs) / 60_000;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const offset = offsetMs === 0 ? 'Z' : `${offsetMs < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
  return `${new Date(localMs).toISOString().slice(0, 19)}${offset}`;
}

export const isDimension = (name: string): name is DimensionName => dimensionNames.some((known) => known === name);
