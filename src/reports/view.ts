import { csvCell } from '../platform/lib/csv.ts';
import { fromMicros } from '../platform/money.ts';
import { countNames, type Metrics, type MoneySum, type UserCount, withMoney } from './metrics.ts';
import { createWriter } from './query/byte-writer.ts';
import type { ActivityRow, ReportRequest } from './query/types.ts';

/**
 * Counts and rates in a response. Amounts are in currency units. A rate whose denominator is 0 is 0. NaN means that the
 * value is unknown.
 */
type MetricsView = Record<string, number>;

const unit = 1_000_000;
const rounded = (value: number): number => Math.round(value * unit) / unit;
const rate = (part: number, whole: number): number => (whole === 0 ? 0 : rounded(part / whole));

/** Report columns that follow the group columns: counts in the order of the metrics, then amounts and rates. */
const columns: readonly { name: string; of: (metrics: Metrics) => number }[] = [
  ...countNames.map((name) => ({ name, of: (metrics: Metrics) => metrics[name] })),
  { name: 'revenue', of: ({ revenue_micros }) => fromMicros(revenue_micros) },
  { name: 'unbilled', of: ({ unbilled_micros }) => fromMicros(unbilled_micros) },
  { name: 'ctr', of: ({ clicks, impressions }) => rate(clicks, impressions) },
  { name: 'cvr', of: ({ conversions, clicks }) => rate(conversions, clicks) },
  { name: 'rpm', of: ({ revenue_micros, sessions }) => rate(fromMicros(revenue_micros) * 1000, sessions) },
  { name: 'fill_rate', of: ({ filled_sessions, sessions }) => rate(filled_sessions, sessions) },
];

export const viewNames: readonly string[] = columns.map(({ name }) => name);

/**
 * Columns that contain or are divided by a number of sessions. They are unknown if the number of sessions is unknown.
 */
export const sessionViewNames: readonly string[] = ['sessions', 'filled_sessions', 'rpm', 'fill_rate'];

/** Columns with unique users, for reports that count them. Their values do not add up. */
const userColumns: typeof columns = [
  { name: 'reach', of: ({ users }) => users?.users ?? Number.NaN },
  { name: 'frequency', of: ({ users }) => (users === undefined ? Number.NaN : frequencyOf(users)) },
  { name: 'unknown_impressions', of: ({ users }) => users?.unknown ?? Number.NaN },
];

export const userViewNames: readonly string[] = userColumns.map(({ name }) => name);

/** Returns the mean number of impressions per user. */
export const frequencyOf = ({ users, impressions }: UserCount): number =>
  users === 0 ? Number.NaN : rounded(impressions / users);

/** Returns the columns with unique users of a row in the API format. */
const usersView = (metrics: Metrics): Record<string, number | null> =>
  Object.fromEntries(userColumns.map(({ name, of }) => [name, Number.isNaN(of(metrics)) ? null : of(metrics)]));

const zeros: MetricsView = Object.fromEntries(viewNames.map((name) => [name, 0]));

function metricsView(metrics: Metrics): MetricsView {
  const view = { ...zeros }; // filling an object with preset fields is several times as fast
  for (const { name, of } of columns) view[name] = of(metrics);
  return view;
}

const columnOf = new Map([...columns, ...userColumns].map((column) => [column.name, column]));

/** Returns the displayed value of a metric by its column name. */
export const viewValue = (name: string, metrics: Metrics): number => columnOf.get(name)?.of(metrics) ?? 0;

/** Amounts in one currency, as returned by the API. */
export type MoneyView = { currency: string; revenue: number; unbilled: number };

export const moneyView = (money: readonly MoneySum[]): MoneyView[] =>
  money.map(({ currency, revenueMicros, unbilledMicros }) => ({
    currency,
    revenue: revenueMicros / unit,
    unbilled: unbilledMicros / unit,
  }));

/**
 * Returns the currency for the single-currency amounts in a row: the row's own currency, or else the report's currency.
 * Returns null if the row has several currencies, or if it has none and the report has several.
 */
function currencyOfRow({ money }: Metrics, reportCurrency: string | null): string | null {
  if (money.length === 0) return reportCurrency;
  return money.length === 1 ? (money[0]?.currency ?? null) : null;
}

/**
 * Returns the metrics of a row in the API format. Single-currency amounts are null unless there is exactly one
 * currency.
 */
export const amountsView = (metrics: Metrics, reportCurrency: string | null): Record<string, unknown> => {
  const currency = currencyOfRow(metrics, reportCurrency);
  const view = metricsView(metrics);
  const amounts = currency === null ? { revenue: null, unbilled: null, rpm: null } : {};
  const users = metrics.users === undefined ? {} : usersView(metrics);
  return { ...view, ...amounts, ...users, currency, revenue_by_currency: moneyView(metrics.money) };
};

type Pieces = Generator<Buffer, void, undefined>;

/** Metrics that are amounts in a single currency. */
const moneyViewNames: ReadonlySet<string> = new Set(['revenue', 'unbilled', 'rpm']);

/** Returns the columns of a report. */
const columnsOf = ({ hasUsers }: ReportRequest): typeof columns => (hasUsers ? [...columns, ...userColumns] : columns);
const unknown = Buffer.from('null');
/** Encodes the members of a JSON object so that they can be appended to another object. */
const moneyBytes = (json: string): Buffer => Buffer.from(`,${json.slice(1, -1)}`);
const [comma, endOfItem, endOfLine] = [Buffer.from(','), Buffer.from('}'), Buffer.from('\r\n')];

/**
 * Yields rows as items of a JSON array, in chunks. Each item contains its day, its hour in hourly reports, the
 * dimensions under their requested names, and the metrics.
 */
export function* toJsonItems(
  request: ReportRequest,
  rows: readonly ActivityRow[],
  reportCurrency: string | null,
): Pieces {
  const { query, names } = request;
  const members = columnsOf(request).map(({ name, of }) => ({
    name,
    key: Buffer.from(`,${JSON.stringify(name)}:`),
    of,
  }));
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
    const currency = currencyOfRow(metrics, reportCurrency);
    for (const { name, key, of } of members) {
      const value = currency === null && moneyViewNames.has(name) ? Number.NaN : of(metrics);
      writer.put(key);
      if (Number.isNaN(value)) writer.put(unknown);
      else writer.number(value);
    }
    writer.put(moneyBytes(JSON.stringify({ currency, revenue_by_currency: moneyView(metrics.money) })));
    writer.put(endOfItem);
    if (writer.isFull()) yield writer.take();
  }
  yield writer.take();
}

/**
 * Yields rows as CSV (RFC 4180), in chunks. A row with several currencies becomes one line per currency. The first line
 * contains the counts, so that columns can be added up. The other lines contain only amounts. Text that a spreadsheet
 * may interpret as a formula is prefixed with an apostrophe.
 */
export function* toCsv(request: ReportRequest, rows: readonly ActivityRow[], reportCurrency: string | null): Pieces {
  const { query, names } = request;
  const columns = columnsOf(request);
  const writer = createWriter();
  const byHour = query.aggregatedBy === 'hour';
  const timeBytes = memoise((time: string) => Buffer.from(byHour ? `${time.slice(0, 10)},${time}` : time));
  const cellBytes = memoise((value: string | number) => Buffer.from(`,${csvCell(value)}`));
  writer.put(
    Buffer.from(
      ['date', ...(byHour ? ['hour'] : []), ...names, ...columns.map(({ name }) => name), 'currency']
        .map(csvCell)
        .join(','),
    ),
  );
  writer.put(endOfLine);
  const line = ({ time, group }: ActivityRow, metrics: Metrics, only: ReadonlySet<string> | null): void => {
    const currency = currencyOfRow(metrics, reportCurrency);
    writer.put(timeBytes(time));
    for (const value of group) writer.put(cellBytes(value));
    for (const { name, of } of columns) {
      const isAmount = moneyViewNames.has(name);
      const value = (only !== null && !only.has(name)) || (currency === null && isAmount) ? Number.NaN : of(metrics);
      writer.put(comma);
      if (!Number.isNaN(value)) writer.number(value);
    }
    writer.put(cellBytes(currency ?? ''));
    writer.put(endOfLine);
  };
  for (const row of rows) {
    const [first, ...others] = row.metrics.money;
    line(row, first === undefined ? row.metrics : withMoney(row.metrics, [first]), null);
    for (const money of others) line(row, withMoney(row.metrics, [money]), furtherAmounts);
    if (writer.isFull()) yield writer.take();
  }
  yield writer.take();
}

const furtherAmounts: ReadonlySet<string> = new Set(['revenue', 'unbilled']);

type ToBytes = (value: string | number) => Buffer;

/** Caches the encoded bytes for each time and value, because they repeat. */
function memoise<T extends string | number>(write: (value: T) => Buffer): (value: T) => Buffer {
  const cache = new Map<T, Buffer>();
  return (value) => {
    let bytes = cache.get(value);
    if (bytes === undefined) {
      bytes = write(value);
      cache.set(value, bytes);
    }
    return bytes;
  };
}
