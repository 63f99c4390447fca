import { type Metrics, metricNames } from './metrics.ts';
import type { ActivityRow } from './query.ts';
import type { ReportRequest } from './request.ts';

/** Counts and rates as they are answered. Money in the currency, not in millionths; rates are 0 where there is nothing to divide by. */
export type MetricsView = Record<string, number>;

const unit = 1_000_000;
const rounded = (value: number): number => Math.round(value * unit) / unit;
const rate = (part: number, whole: number): number => (whole === 0 ? 0 : rounded(part / whole));

export const metricsView = (metrics: Metrics): MetricsView =>
  Object.fromEntries(viewValues(metrics).map((value, index) => [viewNames[index] as string, value]));

export const viewNames: readonly string[] = [
  ...metricNames.filter((name) => name !== 'revenue_micros'),
  'revenue',
  'ctr',
  'cvr',
  'rpm',
  'fill_rate',
];

/** In the order of `viewNames`. */
function viewValues(metrics: Metrics): number[] {
  const { sessions, filled_sessions, impressions, clicks, no_thanks, closes, saves, selections, conversions, revenue_micros } = metrics;
  const revenue = revenue_micros / unit;
  const rates = [rate(clicks, impressions), rate(conversions, clicks), rate(revenue * 1000, sessions), rate(filled_sessions, sessions)];
  return [sessions, filled_sessions, impressions, clicks, no_thanks, closes, saves, selections, conversions, revenue, ...rates];
}

export function sumOf(rows: readonly ActivityRow[]): Metrics {
  const sum = (name: keyof Metrics): number => rows.reduce((total, { metrics }) => total + metrics[name], 0);
  return Object.fromEntries(metricNames.map((name) => [name, sum(name)])) as Metrics;
}

/** Rows of one piece of an answer (count): few enough to be written between two requests of others. */
const rowsAtOnce = 500;

const metricKeys = viewNames.map((name) => `,${JSON.stringify(name)}:`);

/**
 * Rows as items of a JSON array, piece by piece: each with its day, by the hour also its hour, the dimensions under the names they
 * were asked for by, and the metrics. Tens of thousands of rows are common, so the text is put together by hand.
 */
export function* toJsonItems({ query, names }: ReportRequest, rows: readonly ActivityRow[]): Generator<string> {
  const groupKeys = names.map((name) => `,${JSON.stringify(name)}:`);
  const byHour = query.aggregatedBy === 'hour';
  for (let first = 0; first < rows.length; first += rowsAtOnce) {
    let text = '';
    for (const { time, group, metrics } of rows.slice(first, first + rowsAtOnce)) {
      text += `${text === '' && first === 0 ? '' : ','}{"date":"${time.slice(0, 10)}"`;
      if (byHour) text += `,"hour":"${time}"`;
      for (let index = 0; index < groupKeys.length; index++) text += groupKeys[index] + JSON.stringify(group[index]);
      const values = viewValues(metrics);
      for (let index = 0; index < values.length; index++) text += (metricKeys[index] as string) + values[index];
      text += '}';
    }
    yield text;
  }
}

/** Rows as CSV by RFC 4180, piece by piece. Text that a spreadsheet would take for a formula gets an apostrophe in front. */
export function* toCsv({ query, names }: ReportRequest, rows: readonly ActivityRow[]): Generator<string> {
  const byHour = query.aggregatedBy === 'hour';
  yield line(['date', ...(byHour ? ['hour'] : []), ...names, ...viewNames]);
  for (let first = 0; first < rows.length; first += rowsAtOnce) {
    let text = '';
    for (const { time, group, metrics } of rows.slice(first, first + rowsAtOnce)) {
      text += line([time.slice(0, 10), ...(byHour ? [time] : []), ...group, ...viewValues(metrics)]);
    }
    yield text;
  }
}

const line = (cells: readonly (string | number)[]): string => `${cells.map(cell).join(',')}\r\n`;

/** What a spreadsheet may take for a formula: also behind what cannot be seen, and in the wide letters of East Asia. */
const formula = /^[\s\p{C}]*[=+\-@＝＋－＠]|^[\t\r\n]/u;

function cell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = formula.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
