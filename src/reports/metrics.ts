import { type EventMetric, eventKinds, eventMetrics } from '../catalog/event-kinds.ts';

/**
 * The metrics of reports (docs/reference/management.md#reports). A session is one answered fetch; filled: it showed an
 * offer. The events are those of `catalog/event-kinds.ts`. Suspicious events and developers' sessions count in none.
 */
export type MetricName = 'sessions' | 'filled_sessions' | EventMetric | 'conversions' | MoneyMetric;

/** Metrics of money, in millionths. `unbilled_micros`: what no longer fitted into a budget, and was booked with 0. */
export const moneyMetrics = ['revenue_micros', 'unbilled_micros'] as const;

type MoneyMetric = (typeof moneyMetrics)[number];

type CountMetric = Exclude<MetricName, MoneyMetric>;

export const isMoney = (name: MetricName): name is MoneyMetric =>
  (moneyMetrics as readonly MetricName[]).includes(name);

/** The metrics that count. */
export const countNames: readonly CountMetric[] = ['sessions', 'filled_sessions', ...eventMetrics, 'conversions'];

export const metricNames: readonly MetricName[] = [...countNames, ...moneyMetrics];

/** Booked and unbilled money in one currency, in millionths. */
export type MoneySum = { currency: string; revenueMicros: number; unbilledMicros: number };

/**
 * Sums of the metrics; money in millionths of the currency. NaN: sessions that are not known (`withoutSessions`), and
 * money in several currencies, which is never added up.
 */
export type Metrics = Record<MetricName, number> & {
  /** Money by currency, in the order of their codes. */
  money: readonly MoneySum[];
};

/** The metrics with their money by currency; the single amounts have values where there is at most one. */
export function withMoney(metrics: Record<MetricName, number>, money: readonly MoneySum[]): Metrics {
  const [only] = money;
  const single = (micros: number | undefined): number => (money.length > 1 ? Number.NaN : (micros ?? 0));
  return {
    ...metrics,
    money,
    revenue_micros: single(only?.revenueMicros),
    unbilled_micros: single(only?.unbilledMicros),
  };
}

/** The metrics with the money of one currency only. */
export const inCurrency = (metrics: Metrics, currency: string): Metrics =>
  withMoney(
    metrics,
    metrics.money.filter((sum) => sum.currency === currency),
  );

/** The currencies of sums, in the order of their codes. */
export const currenciesOf = (sums: readonly (Metrics | null)[]): string[] =>
  [...new Set(sums.flatMap((metrics) => metrics?.money.map(({ currency }) => currency) ?? []))].sort();

/** Adds money by currency; sums of nothing are left out. */
export function addMoney(lists: Iterable<readonly MoneySum[]>): MoneySum[] {
  const sums = new Map<string, MoneySum>();
  for (const list of lists)
    for (const { currency, revenueMicros, unbilledMicros } of list) {
      const sum = sums.get(currency);
      sums.set(currency, {
        currency,
        revenueMicros: (sum?.revenueMicros ?? 0) + revenueMicros,
        unbilledMicros: (sum?.unbilledMicros ?? 0) + unbilledMicros,
      });
    }
  return [...sums.values()]
    .filter(({ revenueMicros, unbilledMicros }) => revenueMicros !== 0 || unbilledMicros !== 0)
    .sort((a, b) => (a.currency < b.currency ? -1 : 1));
}

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
  const counts = Object.fromEntries(metricNames.map((name) => [name, sum(name)])) as Record<MetricName, number>;
  return withMoney(counts, addMoney(rows.map(({ metrics }) => metrics.money)));
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

/** The columns of sums of money, which are kept by currency. */
export const moneyColumns = moneyMetrics.join(', ');

/** Rows that have money. */
export const hasMoney = `(${moneyMetrics.map((name) => `${name} <> 0`).join(' or ')})`;

export const moneySumsSql = moneyMetrics.map((name) => `${sumSql(name)} as ${name}`).join(', ');

const addSql = (name: MetricName): string =>
  isMoney(name)
    ? `${name} = ${bounded(`kept.${name}::numeric + excluded.${name}`)}`
    : `${name} = kept.${name} + excluded.${name}`;

/** Of `on conflict`: adds the sums of `excluded` to those of `kept`. */
export const addMetricsSql = eachMetric(addSql);
export const addMoneySql = moneyMetrics.map(addSql).join(', ');

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
