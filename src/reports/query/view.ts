import { type Metrics, sumOf } from '../metrics.ts';
import { createWriter } from './byte-writer.ts';
import type { ActivityRow, ReportRequest } from './types.ts';

/** Counts and rates as they are answered. Money in units of the currency; a rate of nothing is 0. */
export type MetricsView = Record<string, number>;

const unit = 1_000_000;
const rounded = (value: number): number => Math.round(value * unit) / unit;
const rate = (part: number, whole: number): number => (whole === 0 ? 0 : rounded(part / whole));

/** Written out: with a loop over the names a report takes a quarter longer to write. */
export const metricsView = (metrics: Metrics): MetricsView => ({
  sessions: metrics.sessions,
  filled_sessions: metrics.filled_sessions,
  impressions: metrics.impressions,
  clicks: metrics.clicks,
  no_thanks: metrics.no_thanks,
  closes: metrics.closes,
  saves: metrics.saves,
  selections: metrics.selections,
  conversions: metrics.conversions,
  revenue: revenueOf(metrics),
  ctr: rate(metrics.clicks, metrics.impressions),
  cvr: rate(metrics.conversions, metrics.clicks),
  rpm: rate(revenueOf(metrics) * 1000, metrics.sessions),
  fill_rate: rate(metrics.filled_sessions, metrics.sessions),
});

const revenueOf = ({ revenue_micros }: Metrics): number => revenue_micros / unit;

const viewValues = (metrics: Metrics): number[] => Object.values(metricsView(metrics));

/** In the order of the values. */
export const viewNames: readonly string[] = Object.keys(metricsView(sumOf([])));

type Pieces = Generator<Buffer, void, undefined>;

const metricKeys = viewNames.map((name) => Buffer.from(`,${JSON.stringify(name)}:`));
const [comma, endOfItem, endOfLine] = [Buffer.from(','), Buffer.from('}'), Buffer.from('\r\n')];

/**
 * Rows as items of a JSON array, piece by piece: each with its day, by the hour also its hour, the dimensions under the
 * names they were requested by, and the metrics.
 */
export function* toJsonItems({ query, names }: ReportRequest, rows: readonly ActivityRow[]): Pieces {
  const writer = createWriter();
  const timeBytes = memoise((time: string) => {
    const hour = query.aggregatedBy === 'hour' ? `,"hour":"${time}"` : '';
    return Buffer.from(`{"date":"${time.slice(0, 10)}"${hour}`);
  });
  const groupBytes = names.map((name) =>
    memoise((value: string | number) => Buffer.from(`,${JSON.stringify(name)}:${JSON.stringify(value)}`)),
  );
  let isFirst = true;
  for (const { time, group, metrics } of rows) {
    if (!isFirst) writer.put(comma);
    isFirst = false;
    writer.put(timeBytes(time));
    for (let index = 0; index < group.length; index++)
      writer.put((groupBytes[index] as ToBytes)(group[index] as string | number));
    const values = viewValues(metrics);
    for (let index = 0; index < values.length; index++) {
      writer.put(metricKeys[index] as Buffer);
      writer.number(values[index] as number);
    }
    writer.put(endOfItem);
    if (writer.isFull()) yield writer.take();
  }
  yield writer.take();
}

/** Rows as CSV (RFC 4180), piece by piece. Text that a spreadsheet may take for a formula gets an apostrophe first. */
export function* toCsv({ query, names }: ReportRequest, rows: readonly ActivityRow[]): Pieces {
  const writer = createWriter();
  const byHour = query.aggregatedBy === 'hour';
  const timeBytes = memoise((time: string) => Buffer.from(byHour ? `${time.slice(0, 10)},${time}` : time));
  const cellBytes = memoise((value: string | number) => Buffer.from(`,${csvCell(value)}`));
  writer.put(Buffer.from(['date', ...(byHour ? ['hour'] : []), ...names, ...viewNames].map(csvCell).join(',')));
  writer.put(endOfLine);
  for (const { time, group, metrics } of rows) {
    writer.put(timeBytes(time));
    for (const value of group) writer.put(cellBytes(value));
    for (const value of viewValues(metrics)) {
      writer.put(comma);
      writer.number(value);
    }
    writer.put(endOfLine);
    if (writer.isFull()) yield writer.take();
  }
  yield writer.take();
}

type ToBytes = (value: string | number) => Buffer;

/** Times and values repeat, so the bytes of each are made once. */
function memoise<T extends string | number>(write: (value: T) => Buffer): (value: T) => Buffer {
  const known = new Map<T, Buffer>();
  return (value) => {
    let bytes = known.get(value);
    if (bytes === undefined) {
      bytes = write(value);
      known.set(value, bytes);
    }
    return bytes;
  };
}

/** What a spreadsheet may take for a formula, also after invisible characters, and in full-width forms. */
const formula = /^[\s\p{C}]*[=+\-@＝＋－＠]|^[\t\r\n]/u;

/** A value as a cell of CSV. Text that a spreadsheet may take for a formula gets an apostrophe first. */
export function csvCell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = formula.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
