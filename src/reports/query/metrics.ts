import { eventMetrics } from '../../catalog/event-kinds.ts';

/**
 * What reports count. A session is one answered fetch; filled: it showed an offer. Selections are the perks chosen when
 * sessions were wrapped. Suspicious events and developers' sessions are in none of them.
 */
export const metricNames = ['sessions', 'filled_sessions', ...eventMetrics, 'conversions', 'revenue_micros'] as const;

export type MetricName = (typeof metricNames)[number];

/** Sums of the metrics; money in millionths of the currency. */
export type Metrics = Record<MetricName, number>;

/** What reports are grouped and filtered by. A campaign is that of the offer. */
export const dimensionNames = ['placement', 'campaign', 'offer', 'country', 'device', 'os'] as const;

export type DimensionName = (typeof dimensionNames)[number];

/** `a, b` with each metric put into a text. */
export const eachMetric = (text: (name: MetricName) => string): string => metricNames.map(text).join(', ');

/** The sum of rows, metric by metric. */
export function sumOf(rows: readonly { metrics: Metrics }[]): Metrics {
  const sum = (name: MetricName): number => rows.reduce((total, { metrics }) => total + metrics[name], 0);
  return Object.fromEntries(metricNames.map((name) => [name, sum(name)])) as Metrics;
}

/**
 * Beyond this (millionths) a sum of amounts stays as it is: whoever reports absurd amounts must stop neither folds nor
 * reports.
 */
const mostMicros = '1000000000000000000';

const bounded = (amount: string): string => `greatest(-${mostMicros}, least(${mostMicros}, ${amount}))::bigint`;

/**
 * The sum of a metric, as SQL. Counts are added as bigints, a tenth of the work of a numeric; amounts would leave their
 * range.
 */
export const sumSql = (name: MetricName, column: string = name): string =>
  name === 'revenue_micros' ? bounded(`sum(${column})`) : `sum_exact(${column})`;

/** Of `on conflict`: adds the metrics of `excluded` to those of `kept`. */
export const addedSql = eachMetric((name) => {
  if (name !== 'revenue_micros') return `${name} = kept.${name} + excluded.${name}`;
  return `${name} = ${bounded(`kept.${name}::numeric + excluded.${name}`)}`;
});
