import { type Metrics, metricNames } from './metrics.ts';
import type { ActivityRow } from './query.ts';
import type { ReportRequest } from './request.ts';

/** Counts and rates as they are answered. Money in the currency, not in millionths; rates are 0 where there is nothing to divide by. */
export type MetricsView = Record<string, number>;

const unit = 1_000_000;
const rounded = (value: number): number => Math.round(value * unit) / unit;
const rate = (part: number, whole: number): number => (whole === 0 ? 0 : rounded(part / whole));

export function metricsView({ revenue_micros: micros, ...counts }: Metrics): MetricsView {
  return {
    ...counts,
    revenue: micros / unit,
    ctr: rate(counts.clicks, counts.impressions),
    cvr: rate(counts.conversions, counts.clicks),
    rpm: rate((micros / unit) * 1000, counts.sessions),
    fill_rate: rate(counts.filled_sessions, counts.sessions),
  };
}

export const viewNames = [...metricNames.filter((name) => name !== 'revenue_micros'), 'revenue', 'ctr', 'cvr', 'rpm', 'fill_rate'];

/** A row with its day, by the hour also its hour, and the dimensions under the names they were asked for by. */
export function rowView({ query, names }: ReportRequest, { time, group, metrics }: ActivityRow): Record<string, string | number> {
  return {
    date: time.slice(0, 10),
    ...(query.aggregatedBy === 'hour' && { hour: time }),
    ...Object.fromEntries(names.map((name, index) => [name, group[index] as string | number])),
    ...metricsView(metrics),
  };
}

export function sumOf(rows: readonly ActivityRow[]): Metrics {
  const sum = (name: keyof Metrics): number => rows.reduce((total, { metrics }) => total + metrics[name], 0);
  return Object.fromEntries(metricNames.map((name) => [name, sum(name)])) as Metrics;
}

/** Rows as CSV by RFC 4180. Text that a spreadsheet would take for a formula gets an apostrophe in front. */
export function toCsv(request: ReportRequest, rows: readonly ActivityRow[]): string {
  const columns = ['date', ...(request.query.aggregatedBy === 'hour' ? ['hour'] : []), ...request.names, ...viewNames];
  const lines = rows.map((row) => {
    const view = rowView(request, row);
    return columns.map((column) => cell(view[column] ?? '')).join(',');
  });
  return [columns.map(cell).join(','), ...lines, ''].join('\r\n');
}

function cell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = /^\s*[=+\-@]|^[\t\r\n]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
