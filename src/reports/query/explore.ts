import type { Executor } from '../../platform/db/pool.ts';
import type { DayRange } from '../../platform/http/day-range.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
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
  moneySumsSql,
  sumOf,
  sumSql,
  type UserCount,
  withMoney,
  withoutSessions,
} from '../metrics.ts';
import { countUsersOf, hasSketches, noUsers, type ReadOptions, type UsersOf, userKeyOf } from '../reach/read.ts';
import { readFirstGroups } from './first-groups.ts';
import {
  activityOf,
  groupByOf,
  hasSums,
  maxGroups,
  type Part,
  partsOf,
  positions,
  rangeOfParts,
  sourcesSql,
  withAmounts,
} from './parts.ts';
import {
  groupSql,
  groupTextSql,
  isIdDimension,
  moneyOf,
  parseText,
  queryActivity,
  readCurrencies,
  setCurrency,
} from './query.ts';
import { tooLarge } from './read-only.ts';
import { groupReader, type Line, readLinesInSlices } from './row-lines.ts';
import { addsUpSessions } from './source.ts';
import type { ActivityQuery, ActivityRow, Compared, ExploreQuery, Group } from './types.ts';

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

/**
 * Returns the reason why rollups cannot answer a query: it combines hours with too many dimensions, or an attribute
 * with a dimension. Returns null if they can.
 */
export function missingSums(query: ExploreQuery): 'hours' | 'attribute' | null {
  if (!hasSums(activityOf(query, query.days, []))) return query.customKey === null ? 'hours' : 'attribute';
  return hasSums({ ...activityOf(query, query.days, groupByOf(query)), aggregatedBy: 'day' }) ? null : 'attribute';
}

/**
 * Answers a query from rollups. Check `missingSums` first.
 * @throws AppError report_too_large
 */
export async function explore(database: Executor, query: ExploreQuery): Promise<Explored> {
  const executor = withoutRepeats(database);
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

/** Returns an executor that sends each named statement only once. All statements must read the same snapshot. */
function withoutRepeats(executor: Executor): Executor {
  const results = new Map<string, Promise<unknown>>();
  const query = (statement: string | { name?: string; values?: unknown[] }, values?: unknown[]): Promise<unknown> => {
    const run = (): Promise<unknown> => executor.query(statement as string, values);
    if (typeof statement === 'string' || statement.name === undefined) return run();
    return getOrInsert(results, JSON.stringify([statement.name, statement.values]), run);
  };
  return { query: query as Executor['query'] };
}

/**
 * Reads the groups of a query. If it selects groups, only these are read with all metrics. Adding up one metric instead
 * of six makes a report on 10,000 offers three times as fast.
 */
async function readSelectedGroups(
  executor: Executor,
  { selection, ...query }: ExploreQuery,
): Promise<Pick<Explored, 'groups' | 'rowCount'>> {
  if (query.by === null) return { groups: [], rowCount: null };
  if (
    selection === undefined ||
    !groupByOf(query).some(isIdDimension) ||
    (selection.metrics.some(isMoney) && (await currenciesOfQuery(executor, query)).length > 1)
  )
    return { groups: await readGroups(executor, query), rowCount: null };
  const { groups: first, rowCount } = await readFirstGroups(executor, query, selection);
  await nextTurn(); // thousands of groups with equal values take some milliseconds to select
  const selected = selection.select(first);
  const filters = { ...query.filters };
  if (selection.advertisers !== undefined) filters.campaign = selected.flatMap(({ campaignIds }) => campaignIds);
  else if (selected.length < rowCount)
    for (const [index, name] of groupByOf(query).entries())
      if (name !== 'custom') filters[name] = [...new Set(selected.flatMap((group) => valuesOf(group)[index] ?? []))];
  const groups = await readGroups(executor, { ...query, filters });
  if (selection.advertisers !== undefined) return { groups, rowCount };
  const keys = new Set(selected.map((group) => keyOf(valuesOf(group))));
  return { groups: groups.filter((group) => keys.has(keyOf(valuesOf(group)))), rowCount };
}

const valuesOf = ({ value, also }: Group): (string | number)[] => [value, ...also];

const currenciesOfQuery = async (executor: Executor, query: ExploreQuery): Promise<string[]> =>
  readCurrencies(executor, query.publisherId, rangeOfParts(await partsOf(executor, query)));

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

/** Reads the groups of a query that have activity. */
async function readGroups(
  executor: Executor,
  query: ExploreQuery,
  { order = '', limit = 2 * maxGroups + 1 }: Partial<Top> = {},
): Promise<Group[]> {
  const values: unknown[] = [query.publisherId];
  const parts = await partsOf(executor, query);
  const isCompared = query.before !== null;
  const isBefore = isCompared ? `bucket < $${values.push(parts[0]?.start)}` : 'false';
  const sources = sourcesSql(parts, values, 'metrics');
  const dimensions = groupByOf(query).map((name) => groupSql(name, true));
  const hasAmounts = query.metrics.some(isMoney);
  const metrics = withAmounts(query.metrics);
  const columns = [
    ...(dimensions.length === 0 ? ["''"] : dimensions).map((value, index) => `${value} as value_${index}`),
    `${isBefore} as is_before`,
    ...metrics.map((name) => `${sumSql(name)} as ${name}`),
  ];
  const readGroup = groupReader();
  const { rows } = await executor.query<{ is_before: number; lines: string }>({
    text: `select is_before::int, string_agg(${lineSql(query, metrics)}, E'\n' ${order}) as lines from (
        select ${columns.join(', ')} from (${sources}) as source
        group by ${positions(Math.max(1, dimensions.length) + (isCompared ? 1 : 0))} ${order} limit ${limit}
      ) as summed group by is_before`,
    values,
    types: parseText((lines) => lines),
  });
  const readPeriod = (isBefore: 0 | 1): Promise<Line[]> =>
    readLinesInSlices(rows.find((row) => row.is_before === isBefore)?.lines ?? '', readGroup, metrics);
  const lines = [await readPeriod(0), await readPeriod(1)] as const;
  const currencies = hasAmounts ? await readCurrencies(executor, query.publisherId, rangeOfParts(parts)) : [];
  const currency = currencies.length === 1 ? (currencies[0] ?? null) : null;
  const money = hasAmounts && currency === null ? await readMoney(executor, query, parts) : noMoney;
  const paid = (isBefore: 0 | 1): Line[] =>
    currency === null ? addMoneyLines(lines[isBefore], money[isBefore]) : setCurrency(lines[isBefore], currency);
  const groups = compare(paid(0), isCompared ? paid(1) : null).filter(hasActivity);
  if (groups.length > maxGroups) throw tooLarge(problem('tooManyValues', { max: maxGroups }));
  return groups;
}

/** Amounts by group key, for the selected range and for the comparison period. */
type MoneyOfGroups = readonly [now: ReadonlyMap<string, MoneyLine>, before: ReadonlyMap<string, MoneyLine>];
type MoneyLine = { group: Line['group']; money: readonly MoneySum[] };

const noMoney: MoneyOfGroups = [new Map(), new Map()];

/** Reads the amounts of the groups by currency. */
async function readMoney(executor: Executor, query: ExploreQuery, parts: readonly Part[]): Promise<MoneyOfGroups> {
  const values: unknown[] = [query.publisherId];
  const isBefore = query.before === null ? 'false' : `bucket < $${values.push(parts[0]?.start)}`;
  const sources = sourcesSql(parts, values, 'money');
  const dimensions = groupByOf(query).map((name, index) => `${groupSql(name, true)} as value_${index}`);
  const { rows } = await executor.query<Record<string, string | number | boolean>>(
    `select ${[...dimensions, `${isBefore} as is_before`, 'currency'].join(', ')}, ${moneySumsSql}
    from (${sources}) as source group by ${positions(dimensions.length + 2)}`,
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
