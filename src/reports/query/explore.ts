import type { Executor } from '../../platform/db/pool.ts';
import type { DayRange } from '../../platform/http/day-range.ts';
import { type DimensionName, type MetricName, type Metrics, metricNames, sumOf, sumSql } from '../metrics.ts';
import { groupSql, queryActivity, readRange } from './query.ts';
import { tooLarge } from './read-only.ts';
import { sourceOf, sourceSql } from './source.ts';
import type { ActivityQuery, ActivityRow } from './types.ts';

/** A question of the report explorer: a range of days beside the one it is compared with. */
export type ExploreQuery = Pick<
  ActivityQuery,
  'publisherId' | 'aggregatedBy' | 'filters' | 'customKey' | 'customValues' | 'timeZone'
> & {
  /** Whose values are listed; null: none. */
  by: DimensionName | 'custom' | null;
  /** What is added up for values and totals; the others are 0. Each costs as much as reading the rows. */
  metrics: readonly MetricName[];
  days: DayRange;
  before: DayRange | null;
  /** Of the last day of `before`, only the hours that begin earlier count (epoch ms); null: all. */
  beforeUntilMs: number | null;
};

/** Sums of the range and of the one before; null: not compared. */
export type Compared = { now: Metrics; before: Metrics | null };

export type Explored = {
  series: readonly ActivityRow[];
  /** Of whole days. */
  seriesBefore: readonly ActivityRow[];
  /** A session counts once. */
  total: Compared;
  groups: readonly (Compared & { value: string | number })[];
};

/** Values of one dimension in one answer (count). */
const maxGroups = 20_000;

const activityOf = (query: ExploreQuery, days: DayRange, groupBy: ActivityQuery['groupBy']): ActivityQuery => ({
  ...query,
  ...days,
  groupBy,
  buckets: 'day',
});

const hasSums = (query: ActivityQuery): boolean => sourceOf(query).kind !== 'raw';

/** What a question has no sums for: hours of too many dimensions, or an attribute beside a dimension. */
export function missingSums(query: ExploreQuery): 'hours' | 'attribute' | null {
  if (!hasSums(activityOf(query, query.days, []))) return query.customKey === null ? 'hours' : 'attribute';
  return hasSums({ ...activityOf(query, query.days, groupByOf(query)), aggregatedBy: 'day' }) ? null : 'attribute';
}

const groupByOf = ({ by }: ExploreQuery): ActivityQuery['groupBy'] => (by === null ? [] : [by]);

/** Whether a part of the last day can be compared: there are hours of up to two dimensions. */
export const canCompareHours = (query: ExploreQuery): boolean =>
  hasSums({ ...activityOf(query, query.days, groupByOf(query)), aggregatedBy: 'hour' });

/** Answers a question that has sums (`missingSums`). @throws AppError report_too_large */
export async function explore(executor: Executor, query: ExploreQuery): Promise<Explored> {
  const series = await queryActivity(executor, activityOf(query, query.days, []));
  const seriesBefore = query.before === null ? [] : await queryActivity(executor, activityOf(query, query.before, []));
  const [total] = await readGroups(executor, { ...query, by: null });
  const none = { now: sumOf([]), before: query.before === null ? null : sumOf([]) };
  return {
    series,
    seriesBefore,
    total: total ?? none,
    groups: query.by === null ? [] : await readGroups(executor, query),
  };
}

/** The values with most of a metric, of one range. */
export type TopQuery = Omit<ExploreQuery, 'before' | 'beforeUntilMs' | 'aggregatedBy'> & {
  by: DimensionName;
  metric: MetricName;
  limit: number;
};

/** Most first. The database adds up and cuts, so thousands of offers cost no more than the rows of their sums. */
export async function exploreTop(
  executor: Executor,
  { metric, limit, ...query }: TopQuery,
): Promise<{ value: string | number; metrics: Metrics }[]> {
  const order = `order by ${metric} desc, value limit ${limit}`;
  const one: ExploreQuery = { ...query, aggregatedBy: 'day', before: null, beforeUntilMs: null };
  const groups = await readGroups(executor, one, order);
  return groups.map(({ value, now: metrics }) => ({ value, metrics }));
}

type GroupRow = Partial<Metrics> & { value: string | number; is_before: number };

async function readGroups(
  executor: Executor,
  query: ExploreQuery,
  order = `limit ${maxGroups + 1}`,
): Promise<Explored['groups']> {
  const values: unknown[] = [query.publisherId];
  const parts = await partsOf(executor, query);
  const sources = parts.map(({ isBefore, activity, start, end }) => {
    const range = [`$${values.push(start)}`, `$${values.push(end)}`] as const;
    const rows = sourceSql(sourceOf(activity), { ...activity, aggregatedBy: 'hour' }, values, range);
    return `select ${isBefore ? 1 : 0} as is_before, part.* from (${rows}) as part`;
  });
  const value = query.by === null ? "''" : groupSql(query.by, true);
  const columns = [`${value} as value`, 'is_before', ...query.metrics.map((name) => `${sumSql(name)} as ${name}`)];
  const { rows } = await executor.query<GroupRow>({
    text: `select ${columns.join(', ')} from (${sources.join(' union all ')}) as source
      group by 1, 2 ${order}`,
    values,
    types: { getTypeParser: (type: number) => (type === textType ? String : Number) as never },
  });
  if (rows.length > maxGroups)
    throw tooLarge(`There are more than ${maxGroups} values. Ask for fewer days, or filter.`);
  return compare(rows, query.before !== null);
}

const textType = 25;

type Part = { isBefore: boolean; activity: ActivityQuery; start: Date; end: Date };

/** The ranges of sums that are added up: days, and the hours of a day that is compared in part. */
async function partsOf(executor: Executor, query: ExploreQuery): Promise<Part[]> {
  const groupBy = groupByOf(query);
  const byDay = (days: DayRange): ActivityQuery => ({ ...activityOf(query, days, groupBy), aggregatedBy: 'day' });
  const rangeOf = (days: DayRange) => readRange(executor, { ...days, timeZone: query.timeZone });
  const current = await rangeOf(query.days);
  const parts: Part[] = [{ isBefore: false, activity: byDay(query.days), start: current.start, end: current.end }];
  const { before, beforeUntilMs } = query;
  if (before === null) return parts;
  const whole = await rangeOf(before);
  if (beforeUntilMs === null || !canCompareHours(query))
    return [...parts, { isBefore: true, activity: byDay(before), start: whole.start, end: whole.end }];
  const { start: lastDay } = await rangeOf({ from: before.to, to: before.to });
  const byHour = { ...byDay(before), aggregatedBy: 'hour' } as const;
  return [
    ...parts,
    { isBefore: true, activity: byDay(before), start: whole.start, end: lastDay },
    { isBefore: true, activity: byHour, start: lastDay, end: new Date(beforeUntilMs) },
  ];
}

const zero: Metrics = Object.freeze(sumOf([]));
const hasActivity = (metrics: Metrics): boolean => metricNames.some((name) => metrics[name] !== 0);

function compare(rows: readonly GroupRow[], isCompared: boolean): Explored['groups'] {
  const groups = new Map<string | number, { value: string | number; now: Metrics; before: Metrics | null }>();
  for (const { value, is_before: isBefore, ...metrics } of rows) {
    let group = groups.get(value);
    if (group === undefined) {
      group = { value, now: zero, before: isCompared ? zero : null };
      groups.set(value, group);
    }
    group[isBefore === 1 ? 'before' : 'now'] = { ...zero, ...metrics };
  }
  return [...groups.values()].filter(({ now, before }) => hasActivity(now) || (before !== null && hasActivity(before)));
}

/** The custom attributes that a publisher's sums have. */
export async function attributeKeys(executor: Executor, publisherId: number): Promise<string[]> {
  const next = (after: string): string => `select min(key) from custom_rollups where publisher_id = $1 and ${after}`;
  const { rows } = await executor.query<{ key: string }>({
    name: 'report_attribute_keys',
    text: `with recursive keys (key) as (
  (${next('true')}) union all select (${next('key > keys.key')}) from keys where keys.key is not null
) select key from keys where key is not null limit 100`,
    values: [publisherId],
  });
  return rows.map(({ key }) => key);
}
