import { type EventMetric, eventKinds, eventMetrics } from '../catalog/event-kinds.ts';

/**
 * Metrics in reports (docs/reference/management.md#reports). A session is an answered fetch, and a filled session
 * returned at least one offer. The event metrics are defined in `catalog/event-kinds.ts`. Suspicious events and dev
 * sessions are not counted.
 */
export type MetricName = 'sessions' | 'filled_sessions' | EventMetric | 'conversions' | MoneyMetric;

/**
 * Metrics that are amounts, in millionths. `unbilled_micros` is the part that exceeded a budget and therefore was
 * booked as 0.
 */
export const moneyMetrics = ['revenue_micros', 'unbilled_micros'] as const;

type MoneyMetric = (typeof moneyMetrics)[number];

type CountMetric = Exclude<MetricName, MoneyMetric>;

export const isMoney = (name: MetricName): name is MoneyMetric =>
  (moneyMetrics as readonly MetricName[]).includes(name);

/** Metrics that are counts rather than amounts. */
export const countNames: readonly CountMetric[] = ['sessions', 'filled_sessions', ...eventMetrics, 'conversions'];

export const metricNames: readonly MetricName[] = [...countNames, ...moneyMetrics];

/** Booked revenue and unbilled amount in one currency, in millionths. */
export type MoneySum = { currency: string; revenueMicros: number; unbilledMicros: number };

/** Number of unique users, with their impressions. */
export type UserCount = {
  users: number;
  /** Impressions of these users. */
  impressions: number;
  /** Impressions of unknown users, which are not in `users`. */
  unknown: number;
  /** Whether `users` is exact rather than an estimate. */
  isExact: boolean;
};

/**
 * Values of all metrics. Amounts are in millionths of the currency. A value is NaN if the number of sessions is unknown
 * (`withoutSessions`), or if there are amounts in several currencies, which are never added up.
 */
export type Metrics = Record<MetricName, number> & {
  /** Amounts by currency, sorted by currency code. */
  money: readonly MoneySum[];
  /**
   * Unique users. Absent if the metrics are a sum, because unique users do not add up and must be counted for each
   * group.
   */
  users?: UserCount;
};

/**
 * Combines metrics with amounts by currency. `revenue_micros` and `unbilled_micros` have a value only if there is at
 * most one currency.
 */
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

/** Returns the metrics with only the amounts in one currency. */
export const inCurrency = (metrics: Metrics, currency: string): Metrics =>
  withMoney(
    metrics,
    metrics.money.filter((sum) => sum.currency === currency),
  );

/** Returns all currencies that occur in a list of metrics, sorted by code. */
export function currenciesOf(sums: readonly (Metrics | null)[]): string[] {
  const currencies = new Set<string>();
  for (const metrics of sums) for (const { currency } of metrics?.money ?? []) currencies.add(currency);
  return [...currencies].sort();
}

/** Whether a list of metrics contains amounts in more than one currency. Lists can have thousands of entries. */
export function hasSeveralCurrencies(sums: readonly (Metrics | null)[]): boolean {
  let only: string | null = null;
  for (const metrics of sums)
    for (const { currency } of metrics?.money ?? []) {
      only ??= currency;
      if (currency !== only) return true;
    }
  return false;
}

/** Adds up amounts by currency. Currencies whose sums are zero are omitted. */
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

/**
 * Marks the session metrics as unknown. They would be too high, because a session with several offers or campaigns was
 * counted once for each of them.
 */
export const withoutSessions = (metrics: Metrics): Metrics => ({
  ...metrics,
  sessions: Number.NaN,
  filled_sessions: Number.NaN,
});

/** Dimensions that reports can be grouped and filtered by. The campaign is derived from the offer. */
export const dimensionNames = ['placement', 'campaign', 'offer', 'country', 'device', 'os'] as const;

export type DimensionName = (typeof dimensionNames)[number];

const zeros = Object.fromEntries(metricNames.map((name) => [name, 0])) as Record<MetricName, number>;

/** Adds up rows, metric by metric. */
export function sumOf(rows: readonly { metrics: Metrics }[]): Metrics {
  const counts = { ...zeros }; // filling an object with preset fields is several times as fast
  for (const { metrics } of rows) for (const name of metricNames) counts[name] += metrics[name];
  return withMoney(counts, addMoney(rows.map(({ metrics }) => metrics.money)));
}

/** Generates an SQL expression for each metric, and joins the expressions with commas. */
export const eachMetric = (text: (name: MetricName) => string): string => metricNames.map(text).join(', ');

/** SQL column list of all metrics. */
export const metricColumns = eachMetric((name) => name);

/** Upper limit of summed amounts, in millionths, so that absurd amounts cannot break rollups or reports. */
const maxMicros = '1000000000000000000';

const bounded = (amount: string): string => `greatest(-${maxMicros}, least(${maxMicros}, ${amount}))::bigint`;

/** SQL for the sum of a metric column. Counts are added as bigint, which is ten times as fast as numeric. */
export const sumSql = (name: MetricName, column: string = name): string =>
  isMoney(name) ? bounded(`sum(${column})`) : `sum_exact(${column})`;

/** SQL for the sums of all metrics, each with its name as the alias. */
export const sumsSql = eachMetric((name) => `${sumSql(name)} as ${name}`);

/** Columns with summed amounts, which are stored by currency. */
export const moneyColumns = moneyMetrics.join(', ');

/** SQL condition for rows with non-zero amounts. */
export const hasMoney = `(${moneyMetrics.map((name) => `${name} <> 0`).join(' or ')})`;

export const moneySumsSql = moneyMetrics.map((name) => `${sumSql(name)} as ${name}`).join(', ');

const addSql = (name: MetricName): string =>
  isMoney(name)
    ? `${name} = ${bounded(`kept.${name}::numeric + excluded.${name}`)}`
    : `${name} = kept.${name} + excluded.${name}`;

/** SQL for an `on conflict` clause that adds the sums in `excluded` to those in `kept`. */
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

/** SQL for the metrics of a group of events (`rollup/events.ts`), each with its name as the alias. */
export const metricsOfEventsSql = eachMetric((name) => `${metricOfEventsSql(name)} as ${name}`);

/** SQL for the number of served offers in a group of events. */
export const servedOfEventsSql = `${countSql(['served'])} as served`;
