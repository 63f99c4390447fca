import type pg from 'pg';
import type { Executor } from '../../platform/db/pool.ts';
import {
  type DimensionName,
  eachMetric,
  type Metrics,
  type MoneySum,
  metricNames,
  moneyColumns,
  moneyMetrics,
  moneySumsSql,
  sumOf,
  sumSql,
  withMoney,
} from '../metrics.ts';
import { maxValues, otherValue } from '../rollup/statement.ts';
import { groupReader, type Line, readLines } from './row-lines.ts';
import { dimensionColumns, isOneToOne, sourceOf, sourceSql, topValuesSql, unknownValue } from './source.ts';
import type { ActivityQuery, ActivityRow } from './types.ts';

/**
 * Reads activity from rollups, sorted by time and then by the dimensions. Rows without activity are omitted. At most
 * one row more than `limit` is read. If it is present, there are more rows than `limit`.
 */
export async function queryActivity(executor: Executor, query: ActivityQuery, limit = 50_000): Promise<ActivityRow[]> {
  const range = await readRange(executor, query);
  const values: unknown[] = [query.publisherId, range.start, range.end, query.aggregatedBy, range.zone];
  const text = await activitySql(executor, query, values, limit);
  const readGroup = groupReader();
  const types = parseText((lines) => readLines(lines, readGroup));
  const { rows } = await executor.query<TimeRow>({ text, values, types });
  const activity = joinTimes(rows.map((row) => rowsOfTime(row, query)));
  const isRaw = sourceOf(query).kind === 'raw';
  const [currency, ...others] = isRaw ? [] : await readCurrencies(executor, query.publisherId, range);
  if (currency !== undefined && others.length === 0) return setCurrency(activity, currency);
  return addMoneyRows(activity, await queryMoney(executor, query, range));
}

/**
 * Returns the currencies of a publisher's amounts in a time range, but at most two of them. Rollups contain the sum of
 * all currencies. With a single currency, amounts by currency therefore do not have to be read.
 */
export async function readCurrencies(
  executor: Executor,
  publisherId: number,
  { start, end }: { start: Date; end: Date },
): Promise<string[]> {
  const { rows } = await executor.query<{ currency: string }>({
    name: 'report_currencies',
    // Days and weeks that begin in the range can contain hours after its end, and days in an earlier time zone.
    text: `select distinct currency from rollup_money
where publisher_id = $1 and grain = 0 and bucket >= $2::timestamptz - interval '1 day'
  and bucket < $3::timestamptz + interval '1 day' limit 2`,
    values: [publisherId, start, end],
  });
  return rows.map(({ currency }) => currency);
}

/** Sets the currency of the amounts in new rows. Changes the rows, because there can be tens of thousands. */
export function setCurrency<Row extends { metrics: Metrics }>(rows: Row[], currency: string): Row[] {
  for (const { metrics } of rows) {
    const { revenue_micros: revenueMicros, unbilled_micros: unbilledMicros } = metrics;
    if (revenueMicros !== 0 || unbilledMicros !== 0) metrics.money = [{ currency, revenueMicros, unbilledMicros }];
  }
  return rows;
}

/**
 * Reads a query's amounts by day, ignoring its dimensions.
 * @param zone time zone of the days to which exchange rates apply; it may differ from the time zone of the query
 */
export async function queryMoneyByDay(
  executor: Executor,
  query: ActivityQuery,
  zone: string,
): Promise<{ day: string; money: readonly MoneySum[] }[]> {
  const { start, end } = await readRange(executor, query);
  const byDay: ActivityQuery = { ...query, groupBy: [], aggregatedBy: 'day' };
  const rows = await queryMoney(executor, byDay, { start, end, zone });
  return rows.map(({ time, metrics }) => ({ day: time, money: metrics.money }));
}

/** Reads amounts by currency for the rows of `queryActivity`. */
async function queryMoney(executor: Executor, query: ActivityQuery, range: TimeRange): Promise<ActivityRow[]> {
  const values: unknown[] = [query.publisherId, range.start, range.end, query.aggregatedBy, range.zone];
  const source = sourceOf(query);
  const byAttribute = query.groupBy.includes('custom');
  const hasAllValues = source.kind === 'custom' && byAttribute && (await hasFewValues(executor, query));
  const needsTop = byAttribute && !hasAllValues;
  const groups = query.groupBy.map((name, index) => `${groupSql(name, hasAllValues)} as group_${index}`);
  const positions = ['slot', 'currency', ...query.groupBy.map((_, index) => `group_${index}`)].join(', ');
  const sources = [
    ...(needsTop
      ? [`source as (${sourceSql(source, query, values, { measure: 'metrics' })})`, topValuesSql(maxValues)]
      : []),
    `paid as (${sourceSql(source, query, values, { measure: 'money' })})`,
  ];
  const { rows } = await executor.query<MoneyRow>({
    text: `with ${sources.join(', ')}
      select ${positions}, ${moneySumsSql}, date_part('epoch', slot)::float8 as start_s,
        date_part('epoch', slot at time zone $5)::float8 as local_s
      from (
        select ${['date_trunc($4, bucket, $5) as slot', 'currency', ...groups].join(', ')}, ${moneyColumns} from paid
      ) as rows
      group by ${positions} having ${moneySumsOf.map((sum) => `${sum} <> 0`).join(' or ')}`,
    values,
  });
  return rows.map((row) => {
    const group = query.groupBy.map((_, index) => row[`group_${index}`] as string | number);
    const [first] = rowsOfTime({ ...row, lines: [{ group, metrics: sumOf([]) }] }, query);
    return { ...(first as ActivityRow), metrics: withMoney(sumOf([]), [moneyOf(row)]) };
  });
}

type MoneyRow = Record<string, string | number> & { start_s: number; local_s: number };

const moneySumsOf = moneyMetrics.map((name) => `sum(${name})`);

/** Returns the amounts in a row of `rollup_money`, or in a sum of such rows. */
export const moneyOf = (row: Readonly<Record<string, unknown>>): MoneySum => ({
  currency: String(row.currency),
  revenueMicros: Number(row.revenue_micros),
  unbilledMicros: Number(row.unbilled_micros),
});

const rowKey = ({ startMs, group }: ActivityRow): string => JSON.stringify([startMs, ...group]);

/** Adds the amounts to the rows. If an amount has no row because the counts add up to zero, a row is added. */
function addMoneyRows(rows: readonly ActivityRow[], money: readonly ActivityRow[]): ActivityRow[] {
  const byKey = new Map<string, ActivityRow>();
  for (const row of money) {
    const before = byKey.get(rowKey(row));
    byKey.set(rowKey(row), before === undefined ? row : { ...row, metrics: sumOf([before, row]) });
  }
  const paid = rows.map((row) => {
    const key = byKey.size === 0 ? '' : rowKey(row);
    const own = byKey.get(key);
    byKey.delete(key);
    return { ...row, metrics: withMoney(row.metrics, own?.metrics.money ?? []) };
  });
  return byKey.size === 0 ? paid : [...paid, ...byKey.values()].sort(inOrder);
}

/**
 * Returns SQL that produces one result row per time. It contains all report rows for that time, as lines of text. With
 * a separate result row for each of tens of thousands of report rows, the driver would take longer than the database.
 */
async function activitySql(
  executor: Executor,
  query: ActivityQuery,
  values: unknown[],
  limit: number,
): Promise<string> {
  const source = sourceOf(query);
  const byAttribute = query.groupBy.includes('custom');
  const hasAllValues = source.kind === 'custom' && byAttribute && (await hasFewValues(executor, query));
  const isSummed = hasAllValues || isOneToOne(source, query);
  const needsTop = byAttribute && !hasAllValues;
  const groups = query.groupBy.map((name, index) => `${groupSql(name, hasAllValues)} as group_${index}`);
  const positions = ['bucket', ...query.groupBy.map((_, index) => `group_${index}`)].join(', ');
  const sums = eachMetric((name) => (isSummed ? name : `${sumSql(name)} as ${name}`));
  const line = [
    `concat_ws(',', ${metricNames.join(', ')})`,
    ...query.groupBy.map((name, index) => groupTextSql(name, `group_${index}`)),
  ].join(` || E'\t' || `);
  const sourceText = sourceSql(source, query, values, { measure: 'metrics' });
  return `
with source as ${needsTop ? 'materialized' : 'not materialized'} (${sourceText})
  ${needsTop ? `,${topValuesSql(maxValues)}` : ''}
select date_part('epoch', slot)::bigint as start_s, date_part('epoch', slot at time zone $5)::bigint as local_s, lines
from (
  select bucket, string_agg(${line}, E'\n') as lines from (
    select * from (
      select ${['bucket', ...groups, sums].join(', ')} from source${isSummed ? '' : ` group by ${positions}`}
    ) as summed
    where (${metricNames.join(' | ')}) <> 0
    order by ${positions} limit ${limit + 1}
  ) as sorted
  group by bucket
) as times cross join lateral date_trunc($4, bucket, $5) as slot
order by bucket`;
}

/** Result row with all report rows for one time. */
type TimeRow = { start_s: number; local_s: number; lines: Line[] };

const textType = 25;

/**
 * Creates a parser configuration that parses each text value when it arrives, while the database is still producing the
 * rest.
 */
export const parseText = (parse: (text: string) => unknown): pg.CustomTypesConfig => ({
  getTypeParser: (type: number) => (type === textType ? parse : Number),
});

export const isIdDimension = (name: DimensionName | 'custom'): name is 'campaign' | 'offer' =>
  name === 'campaign' || name === 'offer';

/** Returns SQL for the values of a dimension, in the form in which reports return them. */
export function groupSql(name: DimensionName | 'custom', hasAllValues: boolean): string {
  if (name === 'custom')
    return hasAllValues ? 'value' : `case when value in (select value from top) then value else '${otherValue}' end`;
  if (isIdDimension(name)) return dimensionColumns[name];
  return `coalesce(nullif(${dimensionColumns[name]}, ''), '${unknownValue}')`;
}

/** Returns SQL that encodes text as JSON, which contains no literal tabs or line breaks. */
export const groupTextSql = (name: DimensionName | 'custom', column: string): string =>
  isIdDimension(name) ? column : `to_json(${column})`;

function rowsOfTime({ start_s, local_s, lines }: TimeRow, { aggregatedBy }: ActivityQuery): ActivityRow[] {
  const [startMs, localMs] = [start_s * 1000, local_s * 1000];
  const time =
    aggregatedBy === 'hour' ? timeOf(localMs, localMs - startMs) : new Date(localMs).toISOString().slice(0, 10);
  return lines.map(({ group, metrics }) => ({ time, startMs, group, metrics }));
}

/**
 * Merges the rows of all result rows into one list. Days are added up by week or month. Rollups from before a time zone
 * change are added to the bucket in which they begin.
 */
function joinTimes(times: readonly ActivityRow[][]): ActivityRow[] {
  const joined: ActivityRow[] = [];
  for (const rows of times) for (const row of rows) joined.push(row); // `flat` takes six times as long
  if (times.every((rows, index) => rows[0]?.startMs !== times[index - 1]?.[0]?.startMs)) return joined;
  const added = new Map<string, ActivityRow>();
  for (const row of joined) {
    const key = rowKey(row);
    const existing = added.get(key);
    added.set(key, existing === undefined ? row : { ...row, metrics: sumOf([existing, row]) });
  }
  return [...added.values()].sort(inOrder);
}

/** Compares two rows as the database sorts them: IDs as numbers, and text by its bytes. */
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

export type TimeRange = { start: Date; end: Date; zone: string };

/** Returns the time range from the start of the first day to the end of the last day. */
export async function readRange(
  executor: Executor,
  { from, to, timeZone }: { from: string; to: string; timeZone: string },
): Promise<TimeRange> {
  const { rows } = await executor.query<TimeRange>({
    name: 'report_range',
    text: `select zone, $1::date::timestamp at time zone zone as start,
  ($2::date + 1)::timestamp at time zone zone as end
from (select time_zone_or_utc($3) as zone) as valid`,
    values: [from, to, timeZone],
  });
  return rows[0] as TimeRange;
}

/** Whether each value of the attribute has its own rows on these days, and on the UTC days before and after them. */
async function hasFewValues(executor: Executor, { publisherId, customKey, from, to }: ActivityQuery): Promise<boolean> {
  const { rows } = await executor.query<{ few: boolean }>({
    name: 'has_few_values',
    text: `select count(*) <= ${maxValues} as few from (
  select distinct value from custom_values
  where publisher_id = $1 and key = $2 and day between $3::date - 1 and $4::date + 1 limit ${maxValues + 1}
) as known`,
    values: [publisherId, customKey, from, to],
  });
  return rows[0]?.few ?? false;
}

/** Formats a local time in ISO 8601 with its UTC offset. */
function timeOf(localMs: number, offsetMs: number): string {
  const minutes = Math.abs(offsetMs) / 60_000;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const offset = offsetMs === 0 ? 'Z' : `${offsetMs < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
  return `${new Date(localMs).toISOString().slice(0, 19)}${offset}`;
}
