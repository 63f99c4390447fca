import { type Html, html } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';

/** URL path of the page with the rows behind a number. */
export const rowsPath = '/rows';

/** Metrics whose rows can be listed instead of those of a rate. */
const rowsOfRate: Readonly<Record<string, string>> = {
  fill_rate: 'filled_sessions',
  ctr: 'clicks',
  cvr: 'conversions',
  rpm: 'revenue',
};

export type RowMetricName = string;

/** Returns the metric whose rows a number opens. A rate opens the rows of its numerator. */
export const rowMetricOf = (metric: string): RowMetricName => rowsOfRate[metric] ?? metric;

/** Rows to open: a metric with filters by dimension or attribute, and a range of days or the last minutes. */
export type RowsTarget = {
  metric: string;
  filters?: Readonly<Record<string, readonly string[]>>;
  days?: { from: string; to: string };
  /** Relative range, such as `7d`. */
  range?: string;
  /** Start of a single hour, in ISO 8601. */
  hour?: string;
  minutes?: number;
};

/** Returns the URL of the page with the rows behind a number. */
export function rowsUrl(path: (rest: string) => string, target: RowsTarget): string {
  const { metric, filters = {}, days, range, hour, minutes } = target;
  const query = new URLSearchParams(days ?? {});
  if (range !== undefined) query.set('range', range);
  for (const [name, values] of Object.entries(filters)) for (const value of values) query.append(name, value);
  if (hour !== undefined) query.set('hour', hour);
  if (minutes !== undefined) query.set('minutes', String(minutes));
  query.set('metrics', rowMetricOf(metric));
  return `${path(rowsPath)}?${query}`;
}

/** Renders a number as a link to the rows behind it. */
export const rowsLink = (path: (rest: string) => string, number: Html | string, target: RowsTarget): Html =>
  html`<a class="opens-rows" href="${rowsUrl(path, target)}" title="${t('rows.open')}" hx-boost="false">${number}</a>`;
