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

/**
 * Sums of activity by time and dimensions, in the order of time, then of the dimensions; without activity no row. At most
 * `limit` rows are read; one more than `limit` means that there are more.
 */
export async function queryActivity(executor: Executor, query: ActivityQuery, limit = 50_000): Promise<ActivityRow[]> {
  const range = await readRange(executor, query);
  const values: unknown[] = [query.publisherId, range.start, range.end];
  const source = sourceSql(sourceOf(query), query, values);
  const unit = `$${values.push(query.aggregatedBy)}`;
  const zone = `$${values.push(range.zone)}`;
  const groups = query.groupBy.map((name, index) => `${groupSql(name)} as group_${index}`);
  const positions = ['slot', ...query.groupBy.map((_, index) => `group_${index}`)].join(', ');
  const byKey = query.groupBy.includes('custom');
  // A line for each row, and an answer for each time: tens of thousands of rows of their own would keep the driver busy for longer than the database.
  const line = [`concat_ws(',', ${metricNames.join(', ')})`, ...query.groupBy.map((name, index) => lineSql(name, `group_${index}`))].join(
    ` || E'\t' || `,
  );
  const { rows } = await executor.query<Times>({
    text: `with source as ${byKey ? 'materialized' : 'not materialized'} (${source})${byKey ? `,${topValuesSql(maxValues)}` : ''}
select date_part('epoch', slot)::bigint as start_s, date_part('epoch', slot at time zone ${zone})::bigint as local_s, string_agg(${line}, E'\n') as lines
from (
  select * from (
    select ${[`date_trunc(${unit}, bucket, ${zone}) as slot`, ...groups].join(', ')}, ${eachMetric((name) => `sum_exact(${name}) as ${name}`)}
    from source group by ${positions}
  ) as summed
  where (${metricNames.join(' | ')}) <> 0
  order by ${positions} limit ${limit + 1}
) as sorted
group by slot order by slot`,
    values,
  });
  const readGroup = groupReader();
  return rows.flatMap((row) => readRows(row, query, readGroup));
}

/** All rows of one time. */
type Times = { start_s: string; local_s: string; lines: string };

/** Text as JSON, in which there is neither a tab nor a line break. */
const lineSql = (name: DimensionName | 'custom', column: string): string =>
  name === 'campaign' || name === 'offer' ? column : `to_json(${column})`;

function readRows({ start_s, local_s, lines }: Times, { aggregatedBy }: ActivityQuery, readGroup: GroupReader): ActivityRow[] {
  const [startMs, localMs] = [Number(start_s) * 1000, Number(local_s) * 1000];
  const time = aggregatedBy === 'day' ? new Date(localMs).toISOString().slice(0, 10) : timeOf(localMs, localMs - startMs);
  return lines.split('\n').map((line) => {
    const [metrics, ...group] = line.split('\t') as [string, ...string[]];
    return { time, startMs, group: group.map(readGroup), metrics: readMetrics(metrics) };
  });
}

type GroupReader = (json: string) => string | number;

/** The same values come again and again. */
function groupReader(): GroupReader {
  const known = new Map<string, string | number>();
  return (json) => {
    let value = known.get(json);
    if (value === undefined) {
      value = JSON.parse(json) as string | number;
      known.set(json, value);
    }
    return value;
  };
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

/**
 * Reads the metrics, joined in the order of `metricNames`. An object written out is a quarter of the work of one put together by
 * names.
 */
function readMetrics(joined: string): Metrics {
  const values = joined.split(',');
  const at = (index: number): number => Number(values[index]);
  return {
    sessions: at(0),
    filled_sessions: at(1),
    impressions: at(2),
    clicks: at(3),
    no_thanks: at(4),
    closes: at(5),
    saves: at(6),
    selections: at(7),
    conversions: at(8),
    revenue_micros: at(9),
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
