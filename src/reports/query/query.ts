import type pg from 'pg';
import type { Executor } from '../../platform/db/pool.ts';
import { maxValues, otherValue } from '../rollup/custom-attributes.ts';
import { groupReader, type Line, readLines } from './csv.ts';
import { type DimensionName, dimensionNames, eachMetric, type Metrics, metricNames, sumOf, sumSql } from './metrics.ts';
import { dimensionColumns, hasOneRowEach, sourceOf, sourceSql, topValuesSql, unknownValue } from './source.ts';

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
 * Sums of activity by time and dimensions, in the order of time, then of the dimensions; without activity no row. At
 * most
 * `limit` rows are read; one more than `limit` means that there are more.
 */
export async function queryActivity(executor: Executor, query: ActivityQuery, limit = 50_000): Promise<ActivityRow[]> {
  const range = await readRange(executor, query);
  const values: unknown[] = [query.publisherId, range.start, range.end, query.aggregatedBy, range.zone];
  const source = sourceOf(query);
  const byKey = query.groupBy.includes('custom');
  const hasAllValues = source.kind === 'custom' && byKey && (await hasFewValues(executor, query));
  const isOneToOne = hasAllValues || hasOneRowEach(source, query);
  const groups = query.groupBy.map((name, index) => `${groupSql(name, hasAllValues)} as group_${index}`);
  const positions = ['bucket', ...query.groupBy.map((_, index) => `group_${index}`)].join(', ');
  const sums = eachMetric((name) => (isOneToOne ? name : `${sumSql(name)} as ${name}`));
  const needsTop = byKey && !hasAllValues;
  // A line for each row, and an answer for each time: tens of thousands of rows of their own would keep the driver busy
  // for longer than the database.
  const line = [
    `concat_ws(',', ${metricNames.join(', ')})`,
    ...query.groupBy.map((name, index) => lineSql(name, `group_${index}`)),
  ].join(` || E'\t' || `);
  const readGroup = groupReader();
  const { rows } = await executor.query<Times>({
    text: `with source as ${needsTop ? 'materialized' : 'not materialized'} (${sourceSql(source, query, values)})${needsTop ? `,${topValuesSql(maxValues)}` : ''}
select date_part('epoch', slot)::bigint as start_s, date_part('epoch', slot at time zone $5)::bigint as local_s, lines
from (
  select bucket, string_agg(${line}, E'\n') as lines from (
    select * from (
      select ${['bucket', ...groups, sums].join(', ')} from source${isOneToOne ? '' : ` group by ${positions}`}
    ) as summed
    where (${metricNames.join(' | ')}) <> 0
    order by ${positions} limit ${limit + 1}
  ) as sorted
  group by bucket
) as times cross join lateral date_trunc($4, bucket, $5) as slot
order by bucket`,
    values,
    types: whileReading((lines) => readLines(lines, readGroup)),
  });
  return joinTimes(rows.map((row) => readRows(row, query)));
}

/** All rows of one time. */
type Times = { start_s: number; local_s: number; lines: Line[] };

const textType = 25;

/** Text is read when it comes, while the database works at the rest. */
const whileReading = (read: (text: string) => unknown): pg.CustomTypesConfig => ({
  getTypeParser: (type: number) => (type === textType ? read : Number),
});

/** Text as JSON, in which there is neither a tab nor a line break. */
const lineSql = (name: DimensionName | 'custom', column: string): string =>
  name === 'campaign' || name === 'offer' ? column : `to_json(${column})`;

function readRows({ start_s, local_s, lines }: Times, { aggregatedBy }: ActivityQuery): ActivityRow[] {
  const [startMs, localMs] = [start_s * 1000, local_s * 1000];
  const time =
    aggregatedBy === 'day' ? new Date(localMs).toISOString().slice(0, 10) : timeOf(localMs, localMs - startMs);
  return lines.map(({ group, metrics }) => ({ time, startMs, group, metrics }));
}

/**
 * One after the other. Sums of before a change of the time zone may begin beside the day or hour they belong to, and
 * are added
 * to those of it.
 */
function joinTimes(times: readonly ActivityRow[][]): ActivityRow[] {
  const joined: ActivityRow[] = [];
  for (const rows of times) for (const row of rows) joined.push(row); // `flat` takes six times as long
  if (times.every((rows, index) => rows[0]?.startMs !== times[index - 1]?.[0]?.startMs)) return joined;
  const added = new Map<string, ActivityRow>();
  for (const row of joined) {
    const key = JSON.stringify([row.startMs, ...row.group]);
    const known = added.get(key);
    added.set(key, known === undefined ? row : { ...row, metrics: sumOf([known, row]) });
  }
  return [...added.values()].sort(inOrder);
}

/** As the database sorts: ids as numbers, text by its bytes. */
function inOrder(a: ActivityRow, b: ActivityRow): number {
  if (a.startMs !== b.startMs) return a.startMs - b.startMs;
  for (const [index, value] of a.group.entries()) {
    const other = b.group[index] as string | number;
    if (value === other) continue;
    return typeof value === 'number'
      ? value - Number(other)
      : Buffer.compare(Buffer.from(value), Buffer.from(String(other)));
  }
  return 0;
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

/**
 * Whether all values of the key in these days, and in those beside them by UTC, are few enough to have rows of their
 * own.
 */
async function hasFewValues(executor: Executor, { publisherId, customKey, from, to }: ActivityQuery): Promise<boolean> {
  const { rows } = await executor.query<{ few: boolean }>({
    name: 'has_few_values',
    text: `select count(*) <= ${maxValues} as few from (
  select distinct value from custom_values where publisher_id = $1 and key = $2 and day between $3::date - 1 and $4::date + 1 limit ${maxValues + 1}
) as known`,
    values: [publisherId, customKey, from, to],
  });
  return rows[0]?.few ?? false;
}

const groupSql = (name: DimensionName | 'custom', hasAllValues: boolean): string => {
  if (name === 'custom')
    return hasAllValues ? 'value' : `case when value in (select value from top) then value else '${otherValue}' end`;
  return name === 'campaign' || name === 'offer'
    ? dimensionColumns[name]
    : `coalesce(nullif(${dimensionColumns[name]}, ''), '${unknownValue}')`;
};

/** ISO 8601 with the offset of the place. */
function timeOf(localMs: number, offsetMs: number): string {
  const minutes = Math.abs(offsetMs) / 60_000;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const offset = offsetMs === 0 ? 'Z' : `${offsetMs < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
  return `${new Date(localMs).toISOString().slice(0, 19)}${offset}`;
}

export const isDimension = (name: string): name is DimensionName => dimensionNames.some((known) => known === name);
