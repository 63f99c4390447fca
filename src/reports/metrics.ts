import { type EventMetric, eventKinds, eventMetrics } from '../catalog/event-kinds.ts';

/**
 * Metrics of reports (docs/reference/management.md#reports). A session is an answered fetch; a filled session showed an
 * offer. The events are those of `catalog/event-kinds.ts`. Suspicious events and developers' sessions don't count.
 */
export type MetricName = 'sessions' | 'filled_sessions' | EventMetric | 'conversions' | MoneyMetric;

/** Money metrics, in millionths. `unbilled_micros`: amounts that exceeded a budget and were booked with 0. */
export const moneyMetrics = ['revenue_micros', 'unbilled_micros'] as const;

type MoneyMetric = (typeof moneyMetrics)[number];

type CountMetric = Exclude<MetricName, MoneyMetric>;

export const isMoney = (name: MetricName): name is MoneyMetric =>
  (moneyMetrics as readonly MetricName[]).includes(name);

/** Metrics that are counts. */
export const countNames: readonly CountMetric[] = ['sessions', 'filled_sessions', ...eventMetrics, 'conversions'];

export const metricNames: readonly MetricName[] = [...countNames, ...moneyMetrics];

/** Booked and unbilled money in one currency, in millionths. */
export type MoneySum = { currency: string; revenueMicros: number; unbilledMicros: number };

/**
 * Sums of the metrics; money in millionths of the currency. NaN stands for unknown sessions (`withoutSessions`), and
 * for money in several currencies, which is never added up.
 */
export type Metrics = Record<MetricName, number> & {
  /** Money by currency, ordered by code. */
  money: readonly MoneySum[];
};

/** Combines metrics with their money by currency. The single amounts are set if there is at most one currency. */
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

/** Metrics with the money of only one currency. */
export const inCurrency = (metrics: Metrics, currency: string): Metrics =>
  withMoney(
    metrics,
    metrics.money.filter((sum) => sum.currency === currency),
  );

/** Currencies of sums, ordered by code. */
export const currenciesOf = (sums: readonly (Metrics | null)[]): string[] =>
  [...new Set(sums.flatMap((metrics) => metrics?.money.map(({ currency }) => currency) ?? []))].sort();

/** Adds up money by currency, without zero sums. */
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

/** Metrics without sessions, which were counted once for each of several offers or campaigns and can't be separated. */
export const withoutSessions = (metrics: Metrics): Metrics => ({
  ...metrics,
  sessions: Number.NaN,
  filled_sessions: Number.NaN,
});

/** Dimensions that reports can group and filter by. The campaign is that of the offer. */
export const dimensionNames = ['placement', 'campaign', 'offer', 'country', 'device', 'os'] as const;

export type DimensionName = (typeof dimensionNames)[number];

/** Sum of rows, metric by metric. */
export function sumOf(rows: readonly { metrics: Metrics }[]): Metrics {
  const sum = (name: MetricName): number => rows.reduce((total, { metrics }) => total + metrics[name], 0);
  const counts = Object.fromEntries(metricNames.map((name) => [name, sum(name)])) as Record<MetricName, number>;
  return withMoney(counts, addMoney(rows.map(({ metrics }) => metrics.money)));
}

/** Joins a text for each metric with commas. */
export const eachMetric = (text: (name: MetricName) => string): string => metricNames.map(text).join(', ');

/** Column list of all metrics. */
export const metricColumns = eachMetric((name) => name);

/** Limit of sums, in millionths, so that absurd amounts stop neither rollups nor reports. */
const maxMicros = '1000000000000000000';

const bounded = (amount: string): string => `greatest(-${maxMicros}, least(${maxMicros}, ${amount}))::bigint`;

/** SQL of the sum of a metric's column. Counts are added as bigints, ten times faster than as numerics. */
export const sumSql = (name: MetricName, column: string = name): string =>
  isMoney(name) ? bounded(`sum(${column})`) : `sum_exact(${column})`;

/** SQL of the sums of all metrics, each with its name. */
export const sumsSql = eachMetric((name) => `${sumSql(name)} as ${name}`);

/** Columns of money sums, which are stored by currency. */
export const moneyColumns = moneyMetrics.join(', ');

/** SQL condition for rows with money. */
export const hasMoney = `(${moneyMetrics.map((name) => `${name} <> 0`).join(' or ')})`;

export const moneySumsSql = moneyMetrics.map((name) => `${sumSql(name)} as ${name}`).join(', ');

const addSql = (name: MetricName): string =>
  isMoney(name)
    ? `${name} = ${bounded(`kept.${name}::numeric + excluded.${name}`)}`
    : `${name} = kept.${name} + excluded.${name}`;

/** SQL for `on conflict` that adds the sums of `excluded` to those of `kept`. */
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

/** SQL of the metrics of a group of events (`rollup/events.ts`), each with its name. */
export const metricsOfEventsSql = eachMetric((name) => `${metricOfEventsSql(name)} as ${name}`);

/** SQL of the number of served offers in a group of events. */
export const servedOfEventsSql = `${countSql(['served'])} as served`;
