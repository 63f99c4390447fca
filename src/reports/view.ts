import { csvCell } from '../platform/lib/csv.ts';
import { countNames, type Metrics } from './metrics.ts';
import { createWriter } from './query/byte-writer.ts';
import type { ActivityRow, ReportRequest } from './query/types.ts';

/** Counts and rates as they are answered. Money in units of the currency; a rate of nothing is 0. NaN: not known. */
export type MetricsView = Record<string, number>;

const unit = 1_000_000;
const rounded = (value: number): number => Math.round(value * unit) / unit;
const rate = (part: number, whole: number): number => (whole === 0 ? 0 : rounded(part / whole));

/** The columns of a report behind its groups: the counts in the order of the metrics, then money and rates. */
const columns: readonly { name: string; of: (metrics: Metrics) => number }[] = [
  ...countNames.map((name) => ({ name, of: (metrics: Metrics) => metrics[name] })),
  { name: 'revenue', of: ({ revenue_micros }) => revenue_micros / unit },
  { name: 'unbilled', of: ({ unbilled_micros }) => unbilled_micros / unit },
  { name: 'ctr', of: ({ clicks, impressions }) => rate(clicks, impressions) },
  { name: 'cvr', of: ({ conversions, clicks }) => rate(conversions, clicks) },
  { name: 'rpm', of: ({ revenue_micros, sessions }) => rate((revenue_micros / unit) * 1000, sessions) },
  { name: 'fill_rate', of: ({ filled_sessions, sessions }) => rate(filled_sessions, sessions) },
];

export const viewNames: readonly string[] = columns.map(({ name }) => name);

/** What counts or divides by sessions, and is not known where they are not. */
export const sessionViewNames: readonly string[] = ['sessions', 'filled_sessions', 'rpm', 'fill_rate'];

const zeros: MetricsView = Object.fromEntries(viewNames.map((name) => [name, 0]));

export function metricsView(metrics: Metrics): MetricsView {
  const view = { ...zeros }; // with its members in place it is filled several times as fast
  for (const { name, of } of columns) view[name] = of(metrics);
  return view;
}

const columnOf = new Map(columns.map((column) => [column.name, column]));

/** One value of the view, by its name. */
export const viewValue = (name: string, metrics: Metrics): number => columnOf.get(name)?.of(metrics) ?? 0;

type Pieces = Generator<Buffer, void, undefined>;

const members = columns.map(({ name, of }) => ({ key: Buffer.from(`,${JSON.stringify(name)}:`), of }));
const unknown = Buffer.from('null');
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
    for (const { key, of } of members) {
      const value = of(metrics);
      writer.put(key);
      if (Number.isNaN(value)) writer.put(unknown);
      else writer.number(value);
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
    for (const { of } of columns) {
      const value = of(metrics);
      writer.put(comma);
      if (!Number.isNaN(value)) writer.number(value);
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
