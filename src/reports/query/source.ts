import {
  type DimensionName,
  dimensionNames,
  eachMetric,
  hasMoney,
  metricColumns,
  metricsOfEventsSql,
  moneyColumns,
  servedOfEventsSql,
} from '../metrics.ts';
import { countedEventsSql, countedImpressionsSql, longestDays } from '../rollup/events.ts';
import { dayBit, dimensionBits, keptGrains, weekBit } from '../rollup/grains.ts';
import { namedValue, otherValue, quarterHourOf } from '../rollup/statement.ts';
import { nextWeekStartMs, weekStartMs } from '../rollup/weeks.ts';
import type { ActivityQuery, Aggregation } from './types.ts';

/** Name of a missing dimension value in responses and filters. */
export const unknownValue = 'unknown';

/** Data source that answers a query: rollups, custom attribute rollups, or raw rows. */
type Source = { kind: 'rollups'; grain: number } | { kind: 'custom'; key: string; grain: number } | { kind: 'raw' };

/** Columns to read from a source: all metrics, or amounts by currency. */
export type Measure = 'metrics' | 'money';

const tables = {
  metrics: { rollups: 'rollups', custom: 'custom_rollups', columns: metricColumns },
  money: { rollups: 'rollup_money', custom: 'custom_rollup_money', columns: `currency, ${moneyColumns}` },
} as const;

/** Column name of each dimension, the same in every source. Custom attributes are in the column `value`. */
export const dimensionColumns: Record<DimensionName, string> = {
  placement: 'placement',
  campaign: 'campaign_id',
  offer: 'offer_id',
  country: 'country',
  device: 'device',
  os: 'os',
};

const usesKey = ({ groupBy, customKey, customValues }: ActivityQuery): boolean =>
  customKey !== null && (groupBy.includes('custom') || customValues !== null);

/**
 * Returns the cheapest source that can answer a query. Raw rows are read only if no rollup fits, which is the case:
 * - for a custom attribute combined with other dimensions or attributes
 * - for more than two dimensions by the hour
 * - if the stored buckets do not fit the query's time zone
 */
export function sourceOf(query: ActivityQuery): Source {
  const { groupBy, filters, customKey, aggregatedBy, buckets, otherCustom = [] } = query;
  if (buckets === 'none' || otherCustom.length > 0) return { kind: 'raw' };

  const used = dimensionNames.filter((name) => groupBy.includes(name) || filters[name] !== undefined);
  if (customKey !== null && usesKey(query))
    return used.length === 0 && (buckets === 'day' || aggregatedBy === 'hour')
      ? { kind: 'custom', key: customKey, grain: aggregatedBy === 'hour' ? 0 : dayBit }
      : { kind: 'raw' };
  const mask = used.reduce((bits, name) => bits | dimensionBits[name], 0);
  const usable = aggregatedBy !== 'hour' && buckets === 'day' ? [mask | dayBit, mask] : [mask];
  const grain = usable.find((candidate) => keptGrains.includes(candidate));
  return grain === undefined ? { kind: 'raw' } : { kind: 'rollups', grain };
}

/**
 * Whether rollups may count a session several times, once per offer. A session shows at most one offer per campaign, so
 * a query for a single campaign or offer counts each session once.
 */
export const addsUpSessions = ({ groupBy, filters }: Pick<ActivityQuery, 'groupBy' | 'filters'>): boolean =>
  !groupBy.some((name) => name === 'offer' || name === 'campaign') &&
  [filters.offer, filters.campaign].some((values) => values !== undefined) &&
  [filters.offer, filters.campaign].every((values) => values === undefined || values.length > 1);

/** Whether each source row becomes exactly one response row, so that no rows need to be added up. */
export function isOneToOne(source: Source, { groupBy, filters, aggregatedBy }: ActivityQuery): boolean {
  if (source.kind !== 'rollups' || needsDays(source.grain, aggregatedBy)) return false;
  return dimensionNames.every(
    (name) =>
      name === 'campaign' ||
      (source.grain & dimensionBits[name]) === 0 ||
      groupBy.includes(name) ||
      filters[name]?.length === 1,
  );
}

/** Whether hourly rows must be added up to days. Rollups without dimensions are stored only by the hour. */
const needsDays = (grain: number, aggregatedBy: Aggregation): boolean =>
  aggregatedBy !== 'hour' && (grain & dayBit) === 0;

/** Returns SQL that truncates a time to the hour, day, week or month ($4) in the time zone $5. */
const bucketOf = (at: string): string => `date_trunc($4, ${at}, $5)`;

/** SQL placeholders for the start and end of the range. */
type RangeOf = readonly [start: string, end: string];
const wholeRange: RangeOf = ['$2', '$3'];
const inRange = ([start, end]: RangeOf): string => `bucket >= ${start} and bucket < ${end}`;
const dimensions = Object.values(dimensionColumns).join(', ');

/** Adds a value to the statement parameters and returns its placeholder. */
export type BindValue = (value: unknown) => string;

/**
 * Returns SQL that reads the source of a query. The rows have a `bucket`, the dimensions and the metrics. They belong
 * to publisher $1 and cover the time from $2 (inclusive) to $3 (exclusive). Buckets are hours, days, weeks or months
 * ($4) in the time zone $5.
 * @param values statement parameters, to which those of the source are appended
 * @param range placeholders to use instead of $2 and $3, for a rollup source
 */
export function sourceSql(
  source: Source,
  query: ActivityQuery,
  values: unknown[],
  { measure, range = wholeRange }: { measure: Measure; range?: RangeOf },
): string {
  const bind: BindValue = (value) => `$${values.push(value)}`;
  if (source.kind === 'rollups') return rollupsSql([{ grain: source.grain, range }], query, values, measure);
  if (source.kind === 'custom')
    return `
select bucket, value, ${tables[measure].columns} from ${tables[measure].custom}
where publisher_id = $1 and key = ${bind(source.key)} and grain = ${source.grain} and ${inRange(range)}
  ${filterSql(query, bind)}`;
  return measure === 'money' ? rawMoneySql(query, bind) : rawSql(query, bind);
}

/**
 * Returns SQL that reads ranges of grains with the same dimensions. One scan of all ranges takes about a quarter less
 * time than a union of scans.
 */
export function rollupsSql(
  ranges: readonly { grain: number; range: RangeOf }[],
  query: ActivityQuery,
  values: unknown[],
  measure: Measure,
): string {
  const bind: BindValue = (value) => `$${values.push(value)}`;
  const [{ grain } = { grain: 0 }] = ranges;
  return `
select ${needsDays(grain, query.aggregatedBy) ? `${bucketOf('bucket')} as bucket` : 'bucket'}, ${dimensions},
  ${tables[measure].columns}
from ${tables[measure].rollups}
where publisher_id = $1 and (${ranges.map(({ grain, range }) => `grain = ${grain} and ${inRange(range)}`).join(' or ')})
  ${indexSql(grain, query)}${filterSql(query, bind)}${offersOfCampaignsSql(query, bind)}`;
}

const utcDayOf = (at: string): string => `(${at}::timestamptz at time zone 'UTC')::date`;

const rawRange = {
  condition: `t.publisher_id = $1 and t.day <= ${utcDayOf('$3')}`,
  fromDay: `${utcDayOf('$2')} - ${longestDays}`,
  sessionsFromDay: `${utcDayOf('$2')} - 1`,
};
const rawEventsSql = countedEventsSql(rawRange);

/** Returns SQL that reads the counted impressions of a query from raw rows. The parameters are those of `sourceSql`. */
export const impressionsSql = (query: ActivityQuery, bind: BindValue): string => `
select * from (
  select at as bucket, ${dimensions}, ${namedValue(`custom ->> ${bind(query.customKey ?? '')}`)} as value, user_key
  from (${countedImpressionsSql(rawRange)}) as events
  where at >= $2 and at < $3${otherCustomSql(query, bind)}
) as impressions
where ${usesKey(query) ? 'value is not null' : 'true'}${filterSql(query, bind)}`;

const rawMoneySql = (query: ActivityQuery, bind: BindValue): string => `
select ${bucketOf('quarter_hour')} as bucket, ${dimensions}, value, currency, ${moneyColumns}
from (
  select ${quarterHourOf('at')} as quarter_hour, ${dimensions},
    ${namedValue(`custom ->> ${bind(query.customKey ?? '')}`)} as value, currency, ${moneyColumns}
  from (${rawEventsSql}) as events
  where at >= $2 and at < $3 and ${hasMoney}${otherCustomSql(query, bind)}
) as paid
where ${usesKey(query) ? 'value is not null' : 'true'} ${filterSql(query, bind)}`;

function rawSql(query: ActivityQuery, bind: BindValue): string {
  const byOffer = (['offer', 'campaign'] as const).some(
    (name) => query.groupBy.includes(name) || query.filters[name] !== undefined,
  );
  return `
select ${bucketOf('quarter_hour')} as bucket, ${dimensions}, value,
  ${eachMetric((name) => (byOffer && /sessions$/.test(name) ? `served as ${name}` : name))}
from (
  select ${quarterHourOf('at')} as quarter_hour, ${dimensions},
    ${namedValue(`custom ->> ${bind(query.customKey ?? '')}`)} as value,
    ${servedOfEventsSql}, ${metricsOfEventsSql}
  from (${rawEventsSql}) as events
  where at >= $2 and at < $3${otherCustomSql(query, bind)} group by 1, 2, 3, 4, 5, 6, 7, 8
) as summed
where ${byOffer ? 'offer_id <> 0' : 'true'}${usesKey(query) ? ' and value is not null' : ''}
  ${filterSql(query, bind)}`;
}

/**
 * Returns SQL conditions that require the dimensions missing from a grain to be empty. They allow PostgreSQL to use the
 * filter index, which begins with device, country and offer. If the query filters by placement, the primary key is
 * better.
 */
function indexSql(grain: number, { filters }: ActivityQuery): string {
  if (filters.placement !== undefined) return '';
  const empty = {
    [dimensionBits.device]: "device = ''",
    [dimensionBits.country]: "country = ''",
    [dimensionBits.offer]: 'offer_id = 0',
  };
  return Object.entries(empty)
    .filter(([bit]) => (grain & Number(bit)) === 0)
    .map(([, condition]) => ` and ${condition}`)
    .join('');
}

/** Returns SQL conditions on the dimensions. `value` is the value of the custom attribute. */
export function filterSql({ filters, customValues }: ActivityQuery, bind: BindValue): string {
  const conditions = dimensionNames.flatMap((name) => {
    const values = filters[name]?.map((value) => (value === unknownValue ? '' : value));
    return values === undefined ? [] : [` and ${dimensionColumns[name]} = any(${bind(values)})`];
  });
  if (customValues !== null) conditions.push(` and value = any(${bind(customValues)})`);
  return conditions.join('');
}

const otherCustomSql = ({ otherCustom = [] }: ActivityQuery, bind: BindValue): string =>
  otherCustom.map(({ key, values }) => ` and ${namedValue(`custom ->> ${bind(key)}`)} = any(${bind(values)})`).join('');

/**
 * Converts campaign filters to offer filters, because the indexes contain only offers. This is safe because an offer
 * never changes its campaign, and its row remains after it is removed.
 */
function offersOfCampaignsSql({ filters: { campaign } }: ActivityQuery, bind: BindValue): string {
  if (campaign === undefined) return '';
  return ` and offer_id = any(array(select id from offers where campaign_id = any(${bind(campaign)})))`;
}

/** SQL for the most frequent values of a custom attribute in the range. All other values are reported as `other`. */
export const topValuesSql = (limit: number): string => `
top as (
  select value from source group by value
  order by (value = '${otherValue}') desc, sum_exact(sessions) desc, value limit ${limit + 1}
)`;

/**
 * Buckets of a rollup source from `start` (inclusive) to `end` (exclusive). `isRunning` means that the present day is
 * the last one, so that there are no rows after the end.
 */
export type Span = { source: Source; start: Date; end: Date; isRunning?: boolean };

/**
 * Splits a bucket range into whole weeks and the remaining days, so that as few rows as possible are read. Does so only
 * if the source has both daily and weekly rows. On average, 30 days become 10 buckets, or 8 if they end today.
 */
export function spansOf({ source, start, end, isRunning = false }: Span): Span[] {
  if (source.kind !== 'rollups' || !(source.grain & dayBit)) return [{ source, start, end }];
  const grain = source.grain - dayBit + weekBit;
  if (!keptGrains.includes(grain)) return [{ source, start, end }];
  const isWeekStart = weekStartMs(start.getTime()) === start.getTime();
  const from = isWeekStart ? start : new Date(nextWeekStartMs(start.getTime()));
  const to = isRunning ? end : new Date(weekStartMs(end.getTime()));
  if (from >= to) return [{ source, start, end }];
  const spans: Span[] = [
    { source, start, end: from },
    { source: { kind: 'rollups', grain }, start: from, end: to },
    { source, start: to, end },
  ];
  return spans.filter((span) => span.start < span.end);
}
