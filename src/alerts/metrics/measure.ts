import { addHours, type HourSums } from '../../reports/hours.ts';

export const alertMetrics = [
  'sessions',
  'fill_rate',
  'impressions',
  'clicks',
  'ctr',
  'conversions',
  'cvr',
  'revenue',
] as const;

export type AlertMetric = (typeof alertMetrics)[number];

/** Ways to compare a metric: with a value, or with its own value in the same hours of the previous week. */
export const comparisons = ['below', 'above', 'drop', 'rise'] as const;

export const windowLengths = [1, 3, 6, 12, 24] as const;

/** Condition of a metric alert (docs/reference/management.md#metric-alerts). */
export type MetricCondition = {
  metric: AlertMetric;
  placement: string | null;
  comparison: (typeof comparisons)[number];
  /** Counts and amounts in their unit; rates and changes in percent. */
  threshold: number;
  /** Currency of revenue. Null for other metrics. */
  currency: string | null;
  window_hours: number;
};

/** Value of a metric, and the limit that it is compared with. Rates are between 0 and 1. */
export type Measurement = { value: number; limit: number; isReached: boolean };

const hoursPerWeek = 7 * 24;

export const isRate = (metric: AlertMetric): boolean => metric in partsOfRate;

export const isChange = ({ comparison }: MetricCondition): boolean => comparison === 'drop' || comparison === 'rise';

/** Number of hours that a condition depends on. */
export const hoursOf = (condition: MetricCondition): number =>
  condition.window_hours + (isChange(condition) ? hoursPerWeek : 0);

/** Minimum denominator of a rate, and minimum number of events to compare with. */
const minBasis = 20;

const partsOfRate: Readonly<Record<string, readonly [part: keyof HourSums, whole: keyof HourSums]>> = {
  fill_rate: ['filled_sessions', 'sessions'],
  ctr: ['clicks', 'impressions'],
  cvr: ['conversions', 'clicks'],
};

/** Returns the value of a metric, or null if a rate is based on too few events. */
function valueIn(metric: AlertMetric, sums: HourSums): number | null {
  const parts = partsOfRate[metric];
  if (parts === undefined) return sums[metric as keyof HourSums];
  const [part, whole] = parts;
  return sums[whole] < minBasis ? null : sums[part] / sums[whole];
}

/** Returns the value to compare with, or null if there was too little activity. */
function earlierValueOf(metric: AlertMetric, sums: HourSums): number | null {
  const value = valueIn(metric, sums);
  if (value === null || value <= 0) return null;
  const basis = metric === 'revenue' ? sums.clicks + sums.conversions : value;
  return isRate(metric) || basis >= minBasis ? value : null;
}

/**
 * Measures a condition in the hours before `end`, which is a position in the list of hours.
 * @returns null if there was too little activity for a comparison
 */
export function measure(condition: MetricCondition, hours: readonly HourSums[], end: number): Measurement | null {
  const { metric, comparison, threshold, window_hours: length } = condition;
  const value = valueIn(metric, addHours(hours, end - length, end));
  if (value === null) return null;
  if (comparison === 'below' || comparison === 'above') {
    const limit = isRate(metric) ? threshold / 100 : threshold;
    return { value, limit, isReached: comparison === 'below' ? value < limit : value > limit };
  }
  const week = end - hoursPerWeek;
  const earlier = earlierValueOf(metric, addHours(hours, week - length, week));
  if (earlier === null) return null;
  const limit = earlier * (1 + (comparison === 'drop' ? -threshold : threshold) / 100);
  return { value, limit, isReached: comparison === 'drop' ? value <= limit : value >= limit };
}

/** Hours before the first activity, for which no value can be determined. */
const firstActive = (hours: readonly HourSums[]): number => {
  const first = hours.findIndex(({ sessions, impressions, clicks }) => sessions + impressions + clicks > 0);
  return first === -1 ? hours.length : first;
};

/**
 * Measures a condition at the end of each of the last hours, oldest first. A measurement is null if there was too
 * little activity, or if its hours begin before the first activity.
 */
export function measureHistory(
  condition: MetricCondition,
  hours: readonly HourSums[],
  measurements: number,
): (Measurement | null)[] {
  const first = firstActive(hours);
  return Array.from({ length: measurements }, (_, index) => {
    const end = hours.length - measurements + index + 1;
    return end - condition.window_hours < first ? null : measure(condition, hours, end);
  });
}

/** Period in which a condition was met without interruption, as positions in a history. `to` is the last one. */
export type Firing = { from: number; to: number };

/** Returns the periods in which an alert would have been open, oldest first. */
export function firingsOf(history: readonly (Measurement | null)[]): Firing[] {
  const firings: Firing[] = [];
  for (const [at, measurement] of history.entries()) {
    if (measurement?.isReached !== true) continue;
    const last = firings.at(-1);
    if (last !== undefined && last.to === at - 1) last.to = at;
    else firings.push({ from: at, to: at });
  }
  return firings;
}
