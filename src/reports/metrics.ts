/**
 * What reports count. A session is one answered fetch; filled: it showed an offer. Selections are the perks chosen when
 * sessions were wrapped. Suspicious events and developers' sessions are in none of them.
 */
export const metricNames = [
  'sessions',
  'filled_sessions',
  'impressions',
  'clicks',
  'no_thanks',
  'closes',
  'saves',
  'selections',
  'conversions',
  'revenue_micros',
] as const;

export type MetricName = (typeof metricNames)[number];

/** Sums of the metrics; money in millionths of the currency. */
export type Metrics = Record<MetricName, number>;

/** What reports are grouped and filtered by. A campaign is that of the offer. */
export const dimensionNames = ['placement', 'campaign', 'offer', 'country', 'device', 'os'] as const;

export type DimensionName = (typeof dimensionNames)[number];

/** `a, b` with each metric put into a text. */
export const eachMetric = (text: (name: MetricName) => string): string => metricNames.map(text).join(', ');

/** Beyond this (millionths) an amount of one row of sums stays as it is: whoever reports absurd amounts must not stop the folds of all. */
const mostMicros = '1000000000000000000';

/** Of `on conflict`: adds the metrics of `excluded` to those of `kept`. */
export const addedSql = eachMetric((name) => {
  if (name !== 'revenue_micros') return `${name} = kept.${name} + excluded.${name}`;
  return `${name} = greatest(-${mostMicros}, least(${mostMicros}, kept.${name}::numeric + excluded.${name}))::bigint`;
});
