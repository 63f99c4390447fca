import { type EventMetric, eventKinds, eventMetrics } from '../catalog/event-kinds.ts';

/**
 * The metrics of reports (docs/interface.md#reports). A session is one answered fetch; filled: it showed an offer. The
 * events are those of `catalog/event-kinds.ts`. Suspicious events and developers' sessions count in none.
 */
export type MetricName = 'sessions' | 'filled_sessions' | EventMetric | 'conversions' | MoneyMetric;

/** Metrics of money, in millionths. `unbilled_micros`: what no longer fitted into a budget, and was booked with 0. */
export const moneyMetrics = ['revenue_micros', 'unbilled_micros'] as const;

type MoneyMetric = (typeof moneyMetrics)[number];
type CountMetric = Exclude<MetricName, MoneyMetric>;

const isMoney = (name: MetricName): name is MoneyMetric => (moneyMetrics as readonly MetricName[]).includes(name);

/** The metrics that count. */
export const countNames: readonly CountMetric[] = ['sessions', 'filled_sessions', ...eventMetrics, 'conversions'];

export const metricNames: readonly MetricName[] = [...countNames, ...moneyMetrics];

/** Sums of the metrics; money in millionths of the currency. NaN: not known (`withoutSessions`). */
export type Metrics = Record<MetricName, number>;

/** The same where sessions were counted once for each of several offers or campaigns, and cannot be told apart. */
export const withoutSessions = (metrics: Metrics): Metrics => ({
  ...metrics,
  sessions: Number.NaN,
  filled_sessions: Number.NaN,
});

/** What reports are grouped and filtered by. A campaign is that of the offer. */
export const dimensionNames = ['placement', 'campaign', 'offer', 'country', 'device', 'os'] as const;

export type DimensionName = (typeof dimensionNames)[number];

/** The sum of rows, metric by metric. */
export function sumOf(rows: readonly { metrics: Metrics }[]): Metrics {
  const sum = (name: MetricName): number => rows.reduce((total, { metrics }) => total + metrics[name], 0);
  return Object.fromEntries(metricNames.map((name) => [name, sum(name)])) as Metrics;
}

/** `a, b` with each metric put into a text. */
export const eachMetric = (text: (name: MetricName) => string): string => metricNames.map(text).join(', ');

/** A list of all metrics' columns. */
export const metricColumns = eachMetric((name) => name);

/** Beyond this (millionths) a sum of amounts stays as it is: absurd amounts must stop neither rollups nor reports. */
const maxMicros = '1000000000000000000';

const bounded = (amount: string): string => `greatest(-${maxMicros}, least(${maxMicros}, ${amount}))::bigint`;

/** The sum of a column of a metric, as SQL. Counts are added as bigints, ten times faster than a numeric. */
export const sumSql = (name: MetricName, column: string = name): string =>
  isMoney(name) ? bounded(`sum(${column})`) : `sum_exact(${column})`;

/** The same for all metrics, each under its name. */
export const sumsSql = eachMetric((name) => `${sumSql(name)} as ${name}`);

/** Of `on conflict`: adds the metrics of `excluded` to those of `kept`. */
export const addMetricsSql = eachMetric((name) => {
  if (!isMoney(name)) return `${name} = kept.${name} + excluded.${name}`;
  return `${name} = ${bounded(`kept.${name}::numeric + excluded.${name}`)}`;
});

const kindOfMetric = new Map<string, string>(Object.entries(eventKinds).map(([kind, { metric }]) => [metric, kind]));

const countSql = (kinds: readonly string[]): string =>
  `sum_exact(occurrences) filter (where kind in (${kinds.map((kind) => `'${kind}'`).join(', ')}))`;

function metricOfEventsSql(name: MetricName): string {
  if (name === 'sessions') return countSql(['filled', 'empty']);
  if (name === 'filled_sessions') return countSql(['filled']);
  const kind = kindOfMetric.get(name);
  if (kind === 'own') return "sum_exact(occurrences) filter (where kind like 'own:%')";
  return kind === undefined ? sumSql(name) : countSql([kind]);
}

/** The metrics of a group of events (`rollup/events.ts`), each under its name. */
export const metricsOfEventsSql = eachMetric((name) => `${metricOfEventsSql(name)} as ${name}`);

/** How often offers were served, by a group of events. */
export const servedOfEventsSql = `${countSql(['served'])} as served`;
