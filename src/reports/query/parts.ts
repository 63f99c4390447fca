import type { Executor } from '../../platform/db/pool.ts';
import type { DayRange } from '../../platform/http/day-range.ts';
import { isMoney, type MetricName, moneyMetrics } from '../metrics.ts';
import { readRange } from './query.ts';
import { type Measure, rollupsSql, type Span, sourceOf, sourceSql, spansOf } from './source.ts';
import type { ActivityQuery, ExploreQuery } from './types.ts';

export const activityOf = (query: ExploreQuery, days: DayRange, groupBy: ActivityQuery['groupBy']): ActivityQuery => ({
  ...query,
  ...days,
  groupBy,
  buckets: 'day',
});

export const hasSums = (query: ActivityQuery): boolean => sourceOf(query).kind !== 'raw';

export const groupByOf = ({ by, also }: ExploreQuery): ActivityQuery['groupBy'] => (by === null ? [] : [by, ...also]);

/**
 * Whether the comparison can be cut off in the middle of a day. This requires hourly rollups, which exist only for up
 * to two dimensions.
 */
export const canCompareHours = (query: ExploreQuery): boolean =>
  hasSums({ ...activityOf(query, query.days, groupByOf(query)), aggregatedBy: 'hour' });

/** Range of rollups, with the query that selects its source. */
export type Part = Omit<Span, 'source'> & { activity: ActivityQuery };

/**
 * Returns the rollup ranges to add up. The selected days come first, followed by the comparison days. If the last
 * comparison day is cut off, its hours follow.
 */
export async function partsOf(executor: Executor, query: ExploreQuery): Promise<Part[]> {
  const groupBy = groupByOf(query);
  const byDay = (days: DayRange): ActivityQuery => ({ ...activityOf(query, days, groupBy), aggregatedBy: 'day' });
  const rangeOf = (days: DayRange) => readRange(executor, { ...days, timeZone: query.timeZone });
  const current = await rangeOf(query.days);
  const { isRunning = false } = query;
  const parts: Part[] = [{ activity: byDay(query.days), start: current.start, end: current.end, isRunning }];
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
export const rangeOfParts = (parts: readonly Part[]): { start: Date; end: Date } => ({
  start: new Date(Math.min(...parts.map(({ start }) => start.getTime()))),
  end: new Date(Math.max(...parts.map(({ end }) => end.getTime()))),
});

/**
 * Returns SQL that reads all parts.
 * @param values statement parameters, to which those of the parts are appended
 */
export function sourcesSql(parts: readonly Part[], values: unknown[], measure: Measure): string {
  const spans = parts.flatMap(({ activity, ...part }) =>
    spansOf({ source: sourceOf(activity), ...part }).map(({ source, start, end }) => ({
      source,
      query: { ...activity, aggregatedBy: 'hour' } as const,
      range: [`$${values.push(start)}`, `$${values.push(end)}`] as const,
    })),
  );
  const [first] = spans;
  const ranges = spans.flatMap(({ source, range }) =>
    source.kind === 'rollups' ? [{ grain: source.grain, range }] : [],
  );
  if (first !== undefined && ranges.length === spans.length) return rollupsSql(ranges, first.query, values, measure);
  return spans
    .map(({ source, query, range }) => sourceSql(source, query, values, { measure, range }))
    .join(' union all ');
}

/** SQL for the positions of the first columns, to group by them. */
export const positions = (count: number): string => Array.from({ length: count }, (_, index) => index + 1).join(', ');

/** Maximum number of values of one dimension in a response. Each value may have metrics in both ranges. */
export const maxGroups = 20_000;

/** Returns the metrics to read, which include all amounts or no amount. */
export const withAmounts = (metrics: readonly MetricName[]): readonly MetricName[] =>
  metrics.some(isMoney) ? [...new Set([...metrics, ...moneyMetrics])] : metrics;
