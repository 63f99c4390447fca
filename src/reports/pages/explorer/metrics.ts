import { eventKinds, kindsWith, rulesOf } from '../../../catalog/event-kinds.ts';
import type { Messages } from '../../../platform/i18n/en.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { changeSize, count, decimal, percent } from '../../../shell/format.ts';
import { hasSeveralCurrencies, type MetricName, type Metrics } from '../../metrics.ts';
import { viewValue } from '../../view.ts';

/** Format in which a metric is displayed. */
type MetricKind = 'count' | 'money' | 'rate' | 'average';

/** Metric in the report explorer. `isBad` means that lower is better. */
export type ReportMetric = { name: string; text: string; definition: string; kind: MetricKind; isBad?: boolean };

/** Metrics of unique users. They do not add up, and there are no rows to list behind them. */
export const userMetrics: readonly string[] = ['reach', 'frequency'];

const metric = (name: keyof Messages['metrics'], kind: MetricKind, isBad = false): ReportMetric => ({
  name,
  kind,
  isBad,
  get text() {
    return t(`metrics.${name}`);
  },
  get definition() {
    return t(`metricDefinitions.${name}`);
  },
});

const mainMetrics = [
  metric('sessions', 'count'),
  metric('filled_sessions', 'count'),
  metric('fill_rate', 'rate'),
  metric('impressions', 'count'),
  metric('reach', 'count'),
  metric('frequency', 'average'),
  metric('clicks', 'count'),
  metric('ctr', 'rate'),
  metric('conversions', 'count'),
  metric('cvr', 'rate'),
  metric('revenue', 'money'),
  metric('rpm', 'money'),
  metric('unbilled', 'money', true),
];

/**
 * All metrics that can be selected (docs/guides/reports.md), in column order. Metrics of other event kinds come last.
 */
export const reportMetrics: readonly ReportMetric[] = [
  ...mainMetrics,
  ...kindsWith('metric')
    .map((kind) => metric(eventKinds[kind].metric, 'count', rulesOf(kind).fewerIsBetter))
    .filter(({ name }) => mainMetrics.every((main) => main.name !== name)),
];

/** For each displayed metric, the stored metrics that it is computed from. */
export const sumsOfMetric: Readonly<Record<string, readonly MetricName[]>> = {
  fill_rate: ['filled_sessions', 'sessions'],
  ctr: ['clicks', 'impressions'],
  cvr: ['conversions', 'clicks'],
  rpm: ['revenue_micros', 'sessions'],
  revenue: ['revenue_micros'],
  unbilled: ['unbilled_micros'],
  reach: ['impressions'],
  frequency: ['impressions'],
};

export const defaultMetrics: readonly string[] = ['sessions', 'fill_rate', 'impressions', 'clicks', 'ctr', 'revenue'];

export const metricOf = (name: string): ReportMetric =>
  reportMetrics.find((metric) => metric.name === name) ?? (reportMetrics[0] as ReportMetric);

/** For each rate, the metric that is its denominator. */
const wholeOf: Readonly<Record<string, MetricName>> = {
  fill_rate: 'sessions',
  ctr: 'impressions',
  cvr: 'clicks',
  rpm: 'sessions',
};

/** Dimensions that have values only for filled sessions. */
const filledOnly: ReadonlySet<string> = new Set(['offer', 'campaign', 'advertiser']);

/**
 * Whether a metric is meaningful for a dimension. For example, the fill rate is meaningless for dimensions that only
 * filled sessions have.
 */
export const isKnownBy = ({ name }: ReportMetric, by: string): boolean => name !== 'fill_rate' || !filledOnly.has(by);

/**
 * Whether a metric has a value: its value is known, its denominator is not 0, and it is meaningful for the dimension.
 */
export function hasValue(metric: ReportMetric, metrics: Metrics, by: string): boolean {
  const { name } = metric;
  if (!isKnownBy(metric, by)) return false;
  return !Number.isNaN(viewValue(name, metrics)) && !isRateOfNothing(name, metrics);
}

/** Whether a metric is a rate whose denominator is 0. The keys of `counts` are metric names or view names. */
function isRateOfNothing(name: string, counts: Readonly<Partial<Record<string, unknown>>>): boolean {
  const whole = wholeOf[name];
  return whole !== undefined && counts[whole] === 0;
}

/**
 * Whether a metric can be compared with the comparison period. If its total was 0 there, each change would only be
 * marked as new.
 */
export const isComparable = ({ name }: ReportMetric, totalBefore: Metrics | null): boolean =>
  totalBefore !== null && viewValue(name, totalBefore) !== 0;

/** Returns the column heading of a metric. Amounts in a single currency have their currency in the heading. */
export const headingOf = ({ text, kind }: ReportMetric, currency: string | null): string =>
  kind === 'money' && currency !== null ? `${text} (${currency})` : text;

export type FormatMoney = (value: number) => string;

export function formatMetric({ kind }: ReportMetric, value: number, money: FormatMoney): string {
  if (kind === 'money') return money(value);
  if (kind === 'average') return decimal(value);
  return kind === 'rate' ? percent(value) : count(value);
}

/** Minimum relative change. Anything smaller is displayed as no change. */
const minChange = 0.0005;

export type Change = { direction: 'up' | 'down' | 'same' | 'new'; text: string };

/**
 * Returns the difference between a metric's two values, for sorting. Returns NaN for amounts in different currencies,
 * which are not compared.
 */
export const differenceOf = ({ name, kind }: ReportMetric, now: Metrics, before: Metrics): number =>
  kind === 'money' && hasSeveralCurrencies([now, before]) ? Number.NaN : viewValue(name, now) - viewValue(name, before);

/** Returns how a metric changed: in percentage points for rates, and as a relative change for other metrics. */
export function changeOf(metric: ReportMetric, now: Metrics, before: Metrics): Change {
  const { name, kind } = metric;
  const [value, previous] = [viewValue(name, now), viewValue(name, before)];
  const by = differenceOf(metric, now, before);
  if (Number.isNaN(by)) return { direction: 'same', text: '–' };
  if (previous === 0)
    return value === 0 ? { direction: 'same', text: '–' } : { direction: 'new', text: t('reports.new') };
  const share = kind === 'rate' ? by : by / Math.abs(previous);
  if (Math.abs(share) < minChange) return { direction: 'same', text: t('reports.unchanged') };
  const text = kind === 'rate' ? t('reports.points', { points: Math.abs(by * 100) }) : changeSize(Math.abs(share));
  return { direction: by > 0 ? 'up' : 'down', text };
}
