import type { Executor } from '../../platform/db/pool.ts';
import { problem } from '../../platform/problem.ts';
import { isMoney, type MetricName, type Metrics, sumOf, withoutSessions } from '../metrics.ts';
import { groupByOf, maxGroups, partsOf, positions, sourcesSql, withAmounts } from './parts.ts';
import { groupSql, parseText } from './query.ts';
import { tooLarge } from './read-only.ts';
import type { ExploreQuery, Group, GroupOrder, GroupSelection } from './types.ts';

/** Group with the campaigns that it consists of, if groups are advertisers. */
export type FirstGroup = Group & { campaignIds: readonly number[] };

type GroupRow = Record<string, string | number> & { row_count: number; campaigns: string };

const none: Metrics = sumOf([]);

/**
 * Reads the first groups of each order, and the number of all groups. The database sorts the groups, because a report
 * can have thousands and shows few of them. Amounts must be in a single currency.
 * @throws AppError report_too_large
 */
export async function readFirstGroups(
  executor: Executor,
  query: ExploreQuery,
  { metrics, orders, advertisers }: GroupSelection,
): Promise<{ groups: FirstGroup[]; rowCount: number }> {
  const values: unknown[] = [query.publisherId];
  const parts = await partsOf(executor, query);
  const sources = sourcesSql(parts, values, 'metrics');
  const periods = query.before === null ? (['now'] as const) : (['now', 'before'] as const);
  const rangeStart = query.before === null ? null : `$${values.push(parts[0]?.start)}`;
  const dimensions = groupByOf(query);
  const sums = periods.flatMap((period) => {
    const filter = rangeStart === null ? '' : `filter (where bucket ${period === 'now' ? '>=' : '<'} ${rangeStart})`;
    return metrics.map((name) => `coalesce(${sumSql(name)} ${filter}, 0)::float8 as ${period}_${name}`);
  });
  const groups = `
    select ${[...dimensions.map((name, index) => `${groupSql(name, true)} as value_${index}`), ...sums].join(', ')}
    from (${sources}) as source where (${withAmounts(query.metrics).join(' | ')}) <> 0
    group by ${positions(dimensions.length)}`;
  const columns = periods.flatMap((period) => metrics.map((name) => `${period}_${name}`));
  const summed =
    advertisers === undefined
      ? groups
      : `
    select coalesce(advertiser_id, 0) as value_0, ${columns.map((name) => `sum(${name}) as ${name}`).join(', ')},
      string_agg(value_0::text, ',') as campaigns, count(*) > 1 as has_several
    from (${groups}) as groups
      left join unnest($${values.push(advertisers.campaignIds)}::integer[],
        $${values.push(advertisers.advertiserIds)}::integer[]) as owned (id, advertiser_id) on id = value_0
    group by 1`;
  // A session that shows several campaigns of an advertiser was counted once for each of them.
  const hasUnknown =
    advertisers !== undefined && metrics.some((name) => name === 'sessions' || name === 'filled_sessions');
  const figure = (period: string): string =>
    hasUnknown ? `case when has_several then null else ${figureSql(period, metrics)} end` : figureSql(period, metrics);
  const valueSql = ({ by }: GroupOrder): string =>
    by === 'value' ? figure('now') : `(${figure('now')}) - (${figure('before')})`;
  const limits = orders.map((order, index) => `(${lastSql(order, valueSql(order))}) as last_${index}`);
  const { rows } = await executor.query<GroupRow>({
    text: `with summed as materialized (${summed}),
      limits as materialized (select ${['(select count(*) from summed) as row_count', ...limits].join(', ')})
    select * from summed cross join limits
    where ${orders.map((order, index) => isFirstSql(order, valueSql(order), `last_${index}`)).join(' or ')}
    limit ${maxGroups}`,
    values,
    types: parseText((text) => text),
  });
  const rowCount = rows[0]?.row_count ?? 0;
  if (rowCount > maxGroups) throw tooLarge(problem('tooManyValues', { max: maxGroups }));
  const metricsOf = (row: GroupRow, period: string): Metrics => {
    const read = { ...none };
    for (const name of metrics) read[name] = row[`${period}_${name}`] as number;
    return hasUnknown && row.campaigns.includes(',') ? withoutSessions(read) : read;
  };
  return {
    groups: rows.map((row) => ({
      value: row.value_0 as string | number,
      also: dimensions.slice(1).map((_, index) => row[`value_${index + 1}`] as string | number),
      now: metricsOf(row, 'now'),
      before: query.before === null ? null : metricsOf(row, 'before'),
      campaignIds: advertisers === undefined ? [] : row.campaigns.split(',').map(Number),
    })),
    rowCount,
  };
}

/** SQL for a sum to sort by. Floating-point numbers are added up much faster than the exact sums of amounts. */
const sumSql = (name: MetricName): string => (isMoney(name) ? `sum(${name}::float8)` : `sum_exact(${name})`);

/** SQL for a metric. Rates are rounded like the displayed ones, so that the same rows have equal values. */
function figureSql(period: string, [part, whole]: readonly MetricName[]): string {
  if (part === undefined) return '0';
  if (whole === undefined) return `${period}_${part}`;
  const perThousand = isMoney(part) ? ' / 1e6 * 1000' : ''; // revenue per 1,000 sessions
  const rate = `${period}_${part}${perThousand} / ${period}_${whole}`;
  return `case ${period}_${whole} when 0 then 0 else floor(${rate} * 1e6 + 0.5) end`;
}

/** SQL for the value of the last group to select, or for null if there are fewer groups. */
function lastSql({ count, direction, isOneWay }: GroupOrder, value: string): string {
  if (count === null) return 'null::float8';
  const condition = isOneWay === true ? `where ${value} ${direction === 'desc' ? '>' : '<'} 0` : '';
  return `select ${value} from summed ${condition} order by 1 ${direction} nulls last offset ${count - 1} limit 1`;
}

function isFirstSql({ direction, isOneWay }: GroupOrder, value: string, last: string): string {
  const isFirst = `${value} ${direction === 'desc' ? '>=' : '<='} ${last}`;
  return isOneWay === true ? isFirst : `${last} is null or ${isFirst}`;
}
