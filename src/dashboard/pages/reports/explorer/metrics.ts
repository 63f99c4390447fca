import type { MetricName } from '../../../../reports/metrics.ts';
import type { MetricsView } from '../../../../reports/query/view.ts';
import { count, percent } from '../../../shell/format.ts';

/** How the values of a metric are written. */
type MetricKind = 'count' | 'money' | 'rate';

/** `isBad`: less is better. */
export type ReportMetric = { name: string; text: string; kind: MetricKind; isBad?: boolean };

/** Every metric that can be chosen (docs/guides/reports.md), in the order of the columns. */
export const reportMetrics: readonly ReportMetric[] = [
  { name: 'sessions', text: 'Sessions', kind: 'count' },
  { name: 'filled_sessions', text: 'Filled sessions', kind: 'count' },
  { name: 'fill_rate', text: 'Fill rate', kind: 'rate' },
  { name: 'impressions', text: 'Impressions', kind: 'count' },
  { name: 'clicks', text: 'Clicks', kind: 'count' },
  { name: 'ctr', text: 'CTR', kind: 'rate' },
  { name: 'conversions', text: 'Conversions', kind: 'count' },
  { name: 'cvr', text: 'CVR', kind: 'rate' },
  { name: 'revenue', text: 'Revenue', kind: 'money' },
  { name: 'rpm', text: 'RPM', kind: 'money' },
  { name: 'selections', text: 'Selections', kind: 'count' },
  { name: 'saves', text: 'Saves', kind: 'count' },
  { name: 'no_thanks', text: 'No thanks', kind: 'count', isBad: true },
  { name: 'closes', text: 'Closes', kind: 'count', isBad: true },
];

/** The sums that a metric is computed from. */
export const sumsOfMetric: Readonly<Record<string, readonly MetricName[]>> = {
  fill_rate: ['filled_sessions', 'sessions'],
  ctr: ['clicks', 'impressions'],
  cvr: ['conversions', 'clicks'],
  rpm: ['revenue_micros', 'sessions'],
  revenue: ['revenue_micros'],
};

export const defaultMetrics: readonly string[] = ['sessions', 'fill_rate', 'impressions', 'clicks', 'ctr', 'revenue'];

export const metricOf = (name: string): ReportMetric =>
  reportMetrics.find((one) => one.name === name) ?? (reportMetrics[0] as ReportMetric);

export type FormatMoney = (value: number) => string;

export function formatMetric({ kind }: ReportMetric, value: number, money: FormatMoney): string {
  if (kind === 'money') return money(value);
  return kind === 'rate' ? percent(value) : count(value);
}

/** Smaller changes count as none. */
const minChange = 0.0005;

export type Change = { direction: 'up' | 'down' | 'same' | 'new'; text: string; by: number };

/** Rates change by percentage points, other metrics by a share. `by` sorts. */
export function changeOf({ name, kind }: ReportMetric, now: MetricsView, before: MetricsView): Change {
  const [value, previous] = [now[name] ?? 0, before[name] ?? 0];
  const by = value - previous;
  if (previous === 0) return value === 0 ? { direction: 'same', text: '–', by } : { direction: 'new', text: 'new', by };
  const share = kind === 'rate' ? by : by / Math.abs(previous);
  if (Math.abs(share) < minChange) return { direction: 'same', text: 'unchanged', by };
  const text = kind === 'rate' ? `${Math.abs(by * 100).toFixed(1)} points` : percentOf(Math.abs(share));
  return { direction: by > 0 ? 'up' : 'down', text, by };
}

const percentOf = (share: number): string => `${(share * 100).toFixed(share < 10 ? 1 : 0)}%`;
