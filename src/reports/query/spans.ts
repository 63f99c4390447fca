import { dayBit, keptGrains, weekBit } from '../rollup/grains.ts';
import { nextWeekStartMs, weekStartMs } from '../rollup/weeks.ts';
import type { Source } from './source.ts';

/** Buckets from `start` until before `end` of a source of sums. */
export type Span = { source: Source; start: Date; end: Date };

/**
 * The fewest rows that add up to a range of buckets: whole weeks and the days beside them, where a source of days has
 * weeks. Of 30 days these are 9 buckets on average.
 */
export function spansOf({ source, start, end }: Span): Span[] {
  if (source.kind !== 'rollups' || !(source.grain & dayBit)) return [{ source, start, end }];
  const grain = source.grain - dayBit + weekBit;
  if (!keptGrains.includes(grain)) return [{ source, start, end }];
  const isWeekStart = weekStartMs(start.getTime()) === start.getTime();
  const from = isWeekStart ? start : new Date(nextWeekStartMs(start.getTime()));
  const to = new Date(weekStartMs(end.getTime()));
  if (from >= to) return [{ source, start, end }];
  const spans: Span[] = [
    { source, start, end: from },
    { source: { kind: 'rollups', grain }, start: from, end: to },
    { source, start: to, end },
  ];
  return spans.filter((span) => span.start < span.end);
}
