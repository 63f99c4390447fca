import type { Executor } from '../../platform/db/pool.ts';
import type { DayRange } from '../../platform/http/day-range.ts';
import { nextTurn } from '../../platform/lib/slices.ts';
import { problem } from '../../platform/problem.ts';
import { type ConvertedTotal, readConvertedTotal } from '../converted.ts';
import {
  addMoney,
  type DimensionName,
  isMoney,
  type MetricName,
  type Metrics,
  type MoneySum,
  metricNames,
  moneyMetrics,
  moneySumsSql,
  sumOf,
  sumSql,
  type UserCount,
  withMoney,
  withoutSessions,
} from '../metrics.ts';
import { countUsersOf, hasSketches, noUsers, type ReadOptions, type UsersOf, userKeyOf } from '../reach/read.ts';
import {
  groupSql,
  groupTextSql,
  isIdDimension,
  moneyOf,
  onlyCurrencyIn,
  parseText,
  queryActivity,
  readRange,
  setCurrency,
} from './query.ts';
import { tooLarge } from './read-only.ts';
import { groupReader, type Line, readLinesInSlices } from './row-lines.ts';
import { addsUpSessions, type Span, sourceOf, sourceSql, spansOf } from './source.ts';
import type { ActivityQuery, ActivityRow } from './types.ts';

/** Query of the report explorer for a range of days and an optional comparison period. */
export type ExploreQuery = Pick<
  ActivityQuery,
  'publisherId' | 'aggregatedBy' | 'filters' | 'customKey' | 'customValues' | 'timeZone'
> & {
  /** Dimension to group by, or null for totals only. */
  by: DimensionName | 'custom' | null;
  /** Additional dimensions to group by. Each group is then a combination of values. */
  also: readonly DimensionName[];
  /** Metrics to add up. All others are 0. Adding up one metric costs as much as reading the rows. */
  metrics: readonly MetricName[];
  days: DayRange;
  before: DayRange | null;
  /** Currency to convert the total to. If it is null or absent, no converted total is computed. */
  convertTo?: string | null;
  /**
   * Time at which to cut off the last day of `before`, in epoch milliseconds. Only hours that begin earlier are
   * counted. Null means that all hours are counted.
   */
  beforeUntilMs: number | null;
  /** Selects the groups to return. Only these are read with all metrics, because there can be thousands of groups. */
  selection?: GroupSelection;
  /** Whether to count unique users. They are counted only if sketches can answer the query. */
  hasUsers?: boolean;
  /** Returns the group in which to count the users of a value of `by`, such as the advertiser of a campaign. */
  uniteUsers?: (value: string | number) => string | number;
};

export type GroupSelection = {
  /** Metrics that `select` needs. In its argument, all other metrics are 0. */
  metrics: readonly MetricName[];
  /** Returns the selected groups, and the number of rows that all groups result in. */
  select: (groups: readonly Group[]) => Promise<{ selected: readonly Group[]; rowCount: number }>;
};

/** Metrics of the selected range and of the comparison period. `before` is null without a comparison. */
export type Compared = { now: Metrics; before: Metrics | null };

export type Explored = {
  series: readonly ActivityRow[];
  /** Time series for the comparison period. Its days are complete. */
  seriesBefore: readonly ActivityRow[];
  /**
   * Total in which each session is counted once. If rollups cannot provide this, the number of sessions is NaN in the
   * total and in the rows.
   */
  total: Compared;
  /**
   * Total for the range, converted to another currency. Null if an exchange rate is missing, or absent if it was not
   * requested.
   */
  converted?: ConvertedTotal | null;
  /** All groups, or those that the query selects. */
  groups: readonly Group[];
  /** Number of rows of all groups, if the query selects groups. */
  rowCount: number | null;
};

/** Metrics of one group. `also` contains its values for the query's additional dimensions, in the same order. */
export type Group = Compared & { value: string | number; also: readonly (string | number)[] };

/** Maximum number of values of one dimension in a response. Each value may have metrics in both ranges. */
const maxGroups = 20_000;

const activityOf = (query: ExploreQuery, days: DayRange, groupBy: ActivityQuery['groupBy']): ActivityQuery => ({
  ...query,
  ...days,
  groupBy,
  buckets: 'day',
});

const hasSums = (query: ActivityQuery): boolean => sourceOf(query).kind !== 'raw';

/**
 * Returns the reason why rollups cannot answer a query: it combines hours with too many dimensions, or an attribute
 * with a dimension. Returns null if they can.
 */
export function missingSums(query: ExploreQuery): 'hours' | 'attribute' | null {
  if (!hasSums(activityOf(query, query.days, []))) return query.customKey === null ? 'hours' : 'attribute';
  return hasSums({ ...activityOf(query, query.days, groupByOf(query)), aggregatedBy: 'day' }) ? null : 'attribute';
}

const groupByOf = ({ by, also }: ExploreQuery): ActivityQuery['groupBy'] => (by === null ? [] : [by, ...also]);

/**
 * Whether the comparison can be cut off in the middle of a day. This requires hourly rollups, which exist only for up
 * to two dimensions.
 */
export const canCompareHours = (query: ExploreQuery): boolean =>
  hasSums({ ...activityOf(query, query.days, groupByOf(query)), aggregatedBy: 'hour' });

/**
 * Answers a query from rollups. Check `missingSums` first.
 * @throws AppError report_too_large
 */
export async function explore(executor: Executor, query: ExploreQuery): Promise<Explored> {
  const isUnknown = addsUpSessions({ filters: query.filters, groupBy: [] });
  const withKnownSessions = <T extends { metrics: Metrics }>(row: T): T =>
    isUnknown ? { ...row, metrics: withoutSessions(row.metrics) } : row;
  const series = await queryActivity(executor, activityOf(query, query.days, []));
  const seriesBefore = query.before === null ? [] : await queryActivity(executor, activityOf(query, query.before, []));
  const [total] = await readGroups(executor, { ...query, by: null });
  const none = { now: sumOf([]), before: query.before === null ? null : sumOf([]) };
  const { groups, rowCount } = await readSelectedGroups(executor, query);
  const counted = query.hasUsers === true ? await countUsersByPeriod(executor, query) : null;
  const to = query.convertTo ?? null;
  const currencyOptions = { zone: query.timeZone, to: to ?? '' };
  return {
    ...(to !== null && {
      converted: await readConvertedTotal(executor, activityOf(query, query.days, []), currencyOptions),
    }),
    series: series.map(withKnownSessions).map((row) => withSlotUsers(row, counted?.now.slots)),
    seriesBefore: seriesBefore.map(withKnownSessions).map((row) => withSlotUsers(row, counted?.before.slots)),
    total: withTotalUsers(isUnknown ? comparedWithoutSessions(total ?? none) : (total ?? none), counted),
    groups: (addsUpSessions({ filters: query.filters, groupBy: groupByOf(query) })
      ? groups.map((group) => ({ ...group, ...comparedWithoutSessions(group) }))
      : groups
    ).map((group) => withGroupUsers(group, query, counted)),
    rowCount,
  };
}

/**
 * Reads the groups of a query. If it selects groups, first reads only the metrics by which it selects them. Adding up
 * one metric instead of six makes a report on 10,000 offers three times as fast.
 */
async function readSelectedGroups(
  executor: Executor,
  { selection, ...query }: ExploreQuery,
): Promise<Pick<Explored, 'groups' | 'rowCount'>> {
  if (query.by === null) return { groups: [], rowCount: null };
  if (selection === undefined || !groupByOf(query).some(isIdDimension))
    return { groups: await readGroups(executor, query), rowCount: null };
  const ranked = await readGroups(executor, { ...query, metrics: selection.metrics }, { activeIn: query.metrics });
  await nextTurn(); // thousands of groups take some milliseconds to select
  const { selected, rowCount } = await selection.select(ranked);
  const valuesOf = ({ value, also }: Group): (string | number)[] => [value, ...also];
  const filters = { ...query.filters };
  if (selected.length < ranked.length)
    for (const [index, name] of groupByOf(query).entries())
      if (name !== 'custom') filters[name] = [...new Set(selected.flatMap((group) => valuesOf(group)[index] ?? []))];
  const complete = await readGroups(executor, { ...query, filters });
  const byKey = new Map(complete.map((group) => [keyOf(valuesOf(group)), group]));
  const groups = selected.flatMap((group) => byKey.get(keyOf(valuesOf(group))) ?? []);
  return { groups, rowCount };
}

/** Unique users of a period. A part is null if sketches cannot answer it. */
type UsersOfPeriod = { range: UsersOf<UserCount> | null; slots: UsersOf<UserCount> | null };
type UsersByPeriod = { now: UsersOfPeriod; before: UsersOfPeriod };

async function countUsersByPeriod(executor: Executor, query: ExploreQuery): Promise<UsersByPeriod> {
  const count = async (activity: ActivityQuery, options: ReadOptions): Promise<UsersOf<UserCount> | null> =>
    (await hasSketches(executor, activity))
      ? countUsersOf(executor, activity, { source: 'sketches', ...options })
      : null;
  const ofPeriod = async (days: DayRange | null, isCutOff: boolean): Promise<UsersOfPeriod> => {
    if (days === null) return { range: null, slots: null };
    const byDay: ActivityQuery = { ...activityOf(query, days, groupByOf(query)), aggregatedBy: 'day' };
    const { uniteUsers: unite } = query;
    return {
      range: isCutOff ? null : await count(byDay, { grouping: 'range', ...(unite !== undefined && { unite }) }),
      slots: await count(activityOf(query, days, []), { grouping: 'slots' }),
    };
  };
  return { now: await ofPeriod(query.days, false), before: await ofPeriod(query.before, query.beforeUntilMs !== null) };
}

const withUsers = (metrics: Metrics, users: UserCount | null): Metrics =>
  users === null ? metrics : { ...metrics, users };

const withSlotUsers = (row: ActivityRow, slots: UsersOf<UserCount> | null = null): ActivityRow => ({
  ...row,
  metrics: withUsers(row.metrics, slots && (slots.groups.get(userKeyOf(row.startMs, [])) ?? noUsers)),
});

const withTotalUsers = ({ now, before }: Compared, counted: UsersByPeriod | null): Compared => ({
  now: withUsers(now, counted?.now.range?.total ?? null),
  before: before && withUsers(before, counted?.before.range?.total ?? null),
});

function withGroupUsers(group: Group, { uniteUsers }: ExploreQuery, counted: UsersByPeriod | null): Group {
  const { value, also, now, before } = group;
  const key = userKeyOf(null, [uniteUsers?.(value) ?? value, ...also]);
  const usersIn = (range: UsersOf<UserCount> | null = null): UserCount | null =>
    range && (range.groups.get(key) ?? noUsers);
  return {
    ...group,
    now: withUsers(now, usersIn(counted?.now.range)),
    before: before && withUsers(before, usersIn(counted?.before.range)),
  };
}

const comparedWithoutSessions = ({ now, before }: Compared): Compared => ({
  now: withoutSessions(now),
  before: before === null ? null : withoutSessions(before),
});

/** Query for the dimension values with the highest metric value in one range. */
export type TopQuery = Omit<ExploreQuery, 'before' | 'beforeUntilMs' | 'aggregatedBy' | 'also'> & {
  by: DimensionName;
  metric: MetricName;
  limit: number;
};

/**
 * Returns the dimension values with the highest metric value, in descending order. The database adds up and limits the
 * rows, so that thousands of offers cost no more than reading their rollups.
 */
export async function exploreTop(
  executor: Executor,
  { metric, limit, ...query }: TopQuery,
): Promise<{ value: string | number; metrics: Metrics }[]> {
  const base: ExploreQuery = { ...query, also: [], aggregatedBy: 'day', before: null, beforeUntilMs: null };
  const top: Top = { order: `order by ${metric} desc, value_0`, limit };
  const { by } = query;
  if (!isIdDimension(by)) return (await readGroups(executor, base, top)).map(toTop);
  // First add up only the metric that the rows are sorted by, because there may be thousands of offers.
  const most = await readGroups(executor, { ...base, metrics: [metric] }, top);
  const filters = { ...query.filters, [by]: most.map(({ value }) => value) };
  return (await readGroups(executor, { ...base, filters }, top)).map(toTop);
}

const toTop = ({ value, now }: Explored['groups'][number]) => ({ value, metrics: now });

/** Order and maximum number of the rows. */
type Top = { order: string; limit: number };

/**
 * Reads the groups of a query that have activity.
 * @param activeIn metrics that decide whether a group has activity; defaults to the metrics of the query
 */
async function readGroups(
  executor: Executor,
  query: ExploreQuery,
  { order = '', limit = 2 * maxGroups + 1, activeIn }: Partial<Top> & { activeIn?: readonly MetricName[] } = {},
): Promise<Group[]> {
  const values: unknown[] = [query.publisherId];
  const parts = await partsOf(executor, query);
  const isCompared = query.before !== null;
  const isBefore = isCompared ? `bucket < $${values.push(parts[0]?.start)}` : 'false';
  const sources = parts.flatMap(({ activity, start, end }) =>
    spansOf({ source: sourceOf(activity), start, end }).map((span) => {
      const range = [`$${values.push(span.start)}`, `$${values.push(span.end)}`] as const;
      return sourceSql(span.source, { ...activity, aggregatedBy: 'hour' }, values, { measure: 'metrics', range });
    }),
  );
  const dimensions = groupByOf(query).map((name) => groupSql(name, true));
  const hasAmounts = query.metrics.some(isMoney);
  const metrics = withAmounts(query.metrics);
  const isActive = activeIn === undefined ? 'true' : `(${withAmounts(activeIn).join(' | ')}) <> 0`;
  const columns = [
    ...(dimensions.length === 0 ? ["''"] : dimensions).map((value, index) => `${value} as value_${index}`),
    `${isBefore} as is_before`,
    ...metrics.map((name) => `${sumSql(name)} as ${name}`),
  ];
  const readGroup = groupReader();
  const { rows } = await executor.query<{ is_before: number; lines: string }>({
    text: `select is_before::int, string_agg(${lineSql(query, metrics)}, E'\n' ${order}) as lines from (
        select ${columns.join(', ')} from (${sources.join(' union all ')}) as source where ${isActive}
        group by ${positions(Math.max(1, dimensions.length) + (isCompared ? 1 : 0))} ${order} limit ${limit}
      ) as summed group by is_before`,
    values,
    types: parseText((lines) => lines),
  });
  const readPeriod = (isBefore: 0 | 1): Promise<Line[]> =>
    readLinesInSlices(rows.find((row) => row.is_before === isBefore)?.lines ?? '', readGroup, metrics);
  const lines = [await readPeriod(0), await readPeriod(1)] as const;
  const currency = hasAmounts ? await onlyCurrencyIn(executor, query.publisherId, rangeOfParts(parts)) : null;
  const money = hasAmounts && currency === null ? await readMoney(executor, query, parts) : noMoney;
  const paid = (isBefore: 0 | 1): Line[] =>
    currency === null ? addMoneyLines(lines[isBefore], money[isBefore]) : setCurrency(lines[isBefore], currency);
  const all = compare(paid(0), isCompared ? paid(1) : null);
  const groups = activeIn === undefined ? all.filter(hasActivity) : all;
  if (groups.length > maxGroups) throw tooLarge(problem('tooManyValues', { max: maxGroups }));
  return groups;
}

/** Returns the metrics to read, which include all amounts or no amount. */
const withAmounts = (metrics: readonly MetricName[]): readonly MetricName[] =>
  metrics.some(isMoney) ? [...new Set([...metrics, ...moneyMetrics])] : metrics;

/** Amounts by group key, for the selected range and for the comparison period. */
type MoneyOfGroups = readonly [now: ReadonlyMap<string, MoneyLine>, before: ReadonlyMap<string, MoneyLine>];
type MoneyLine = { group: Line['group']; money: readonly MoneySum[] };

const noMoney: MoneyOfGroups = [new Map(), new Map()];

/** Reads the amounts of the groups by currency. */
async function readMoney(executor: Executor, query: ExploreQuery, parts: readonly Part[]): Promise<MoneyOfGroups> {
  const values: unknown[] = [query.publisherId];
  const isBefore = query.before === null ? 'false' : `bucket < $${values.push(parts[0]?.start)}`;
  const sources = parts.flatMap(({ activity, start, end }) =>
    spansOf({ source: sourceOf(activity), start, end }).map((span) => {
      const range = [`$${values.push(span.start)}`, `$${values.push(span.end)}`] as const;
      return sourceSql(span.source, { ...activity, aggregatedBy: 'hour' }, values, { measure: 'money', range });
    }),
  );
  const dimensions = groupByOf(query).map((name, index) => `${groupSql(name, true)} as value_${index}`);
  const { rows } = await executor.query<Record<string, string | number | boolean>>(
    `select ${[...dimensions, `${isBefore} as is_before`, 'currency'].join(', ')}, ${moneySumsSql}
    from (${sources.join(' union all ')}) as source group by ${positions(dimensions.length + 2)}`,
    values,
  );
  const money = [new Map<string, MoneyLine>(), new Map<string, MoneyLine>()] as const;
  for (const row of rows) {
    const group = dimensions.length === 0 ? [''] : dimensions.map((_, index) => row[`value_${index}`] as string);
    const lines = money[row.is_before === true ? 1 : 0];
    const key = JSON.stringify(group);
    lines.set(key, { group, money: addMoney([lines.get(key)?.money ?? [], [moneyOf(row)]]) });
  }
  return money;
}

/**
 * Adds the amounts to the lines. A group that has amounts but no line, because its counts add up to zero, gets a new
 * line.
 */
function addMoneyLines(lines: readonly Line[], money: ReadonlyMap<string, MoneyLine>): Line[] {
  const rest = new Map(money);
  const paid = lines.map(({ group, metrics }) => {
    const key = JSON.stringify(group);
    const own = rest.get(key)?.money ?? [];
    rest.delete(key);
    return { group, metrics: withMoney(metrics, own) };
  });
  return [...paid, ...[...rest.values()].map(({ group, money }) => ({ group, metrics: withMoney(zero, money) }))];
}

/** Returns SQL that formats a group as a line for `readLines`. */
function lineSql(query: ExploreQuery, metrics: readonly MetricName[]): string {
  const dimensions = query.by === null ? (['custom'] as const) : groupByOf(query);
  const values = dimensions.map((name, index) => groupTextSql(name, `value_${index}`));
  return [`concat_ws(',', ${metrics.join(', ')})`, ...values].join(` || E'\t' || `);
}

const positions = (count: number): string => Array.from({ length: count }, (_, index) => index + 1).join(', ');

type Part = Omit<Span, 'source'> & { activity: ActivityQuery };

/**
 * Returns the rollup ranges to add up. The selected days come first, followed by the comparison days. If the last
 * comparison day is cut off, its hours follow.
 */
async function partsOf(executor: Executor, query: ExploreQuery): Promise<Part[]> {
  const groupBy = groupByOf(query);
  const byDay = (days: DayRange): ActivityQuery => ({ ...activityOf(query, days, groupBy), aggregatedBy: 'day' });
  const rangeOf = (days: DayRange) => readRange(executor, { ...days, timeZone: query.timeZone });
  const current = await rangeOf(query.days);
  const parts: Part[] = [{ activity: byDay(query.days), start: current.start, end: current.end }];
  const { before, beforeUntilMs } = query;
  if (before === null) return parts;
  const whole = await rangeOf(before);
  if (beforeUntilMs === null || !canCompareHours(query))
    return [...parts, { activity: byDay(before), start: whole.start, end: whole.end }];
  const { start: lastDay } = await rangeOf({ from: before.to, to: before.to });
  const byHour = { ...byDay(before), aggregatedBy: 'hour' } as const;
  return [
    ...parts,
    { activity: byDay(before), start: whole.start, end: lastDay },
    { activity: byHour, start: lastDay, end: new Date(beforeUntilMs) },
  ];
}

/** Returns the range from the start of the earliest part to the end of the latest. */
const rangeOfParts = (parts: readonly Part[]): { start: Date; end: Date } => ({
  start: new Date(Math.min(...parts.map(({ start }) => start.getTime()))),
  end: new Date(Math.max(...parts.map(({ end }) => end.getTime()))),
});

const zero: Metrics = Object.freeze(sumOf([]));
const hasActivity = ({ now, before }: Compared): boolean =>
  [now, before].some(
    (metrics) => metrics !== null && (metrics.money.length > 0 || metricNames.some((name) => metrics[name] !== 0)),
  );

const keyOf = (group: Line['group']): string | number | undefined =>
  group.length === 1 ? group[0] : JSON.stringify(group);

/**
 * Combines the groups of the selected range with those of the comparison period.
 * @param before groups of the comparison period, or null if there is no comparison
 */
function compare(now: readonly Line[], before: readonly Line[] | null): Group[] {
  const groups = new Map<string | number | undefined, Group>();
  for (const { group, metrics } of now) {
    const [value = '', ...also] = group;
    groups.set(keyOf(group), { value, also, now: metrics, before: before === null ? null : zero });
  }
  for (const { group, metrics } of before ?? []) {
    const [value = '', ...also] = group;
    groups.set(keyOf(group), { value, also, now: groups.get(keyOf(group))?.now ?? zero, before: metrics });
  }
  return [...groups.values()];
}

/** Returns the custom attributes that occur in a publisher's rollups. */
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
