import type { Work } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import { createFileCounter, type DryRunView, type FileCounter } from '../../platform/files/counter.ts';
import type { Layout } from '../../platform/files/layout.ts';
import type { FileFormat } from '../../platform/files/names.ts';
import { type FileRow, openDelimitedFile } from '../../platform/files/open.ts';
import { cleanValue } from '../../platform/files/values.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { createPacer } from '../../platform/lib/slices.ts';
import { isCurrency } from '../../platform/money.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import {
  keyOf,
  maxStoredRates,
  type NewRate,
  rateProblem,
  readExchangeRates,
  saveExchangeRates,
} from './exchange-rates.ts';

/**
 * Columns of a file with one row per rate, with the names that central banks and spreadsheets use. Alternatively, a
 * file can have one row per day and one column per currency.
 */
const rateFormat: FileFormat<'currency' | 'rate' | 'valid_from' | 'base'> = {
  columns: {
    currency: ['code', 'currency code', 'iso code', 'Währung', 'Währungscode', 'ISO-Code'],
    rate: ['exchange rate', 'value', 'obs_value', 'Kurs', 'Wechselkurs', 'Wert'],
    valid_from: ['date', 'day', 'valid from', 'time_period', 'Datum', 'Tag', 'gültig ab', 'gültig seit'],
    base: ['base currency', 'currency_denom', 'Basis', 'Basiswährung'],
  },
  otherColumn: (name) => (isCurrency(name.toUpperCase()) ? name.toUpperCase() : null),
  required: ['valid_from'],
};
const ownColumns: readonly string[] = Object.keys(rateFormat.columns);

/**
 * Whether a cell means that there is no rate for the day, for example because markets were closed or the currency did
 * not exist.
 */
const isAbsent = (text: string): boolean => /^(|-|n\/?a|\.)$/i.test(text);

export type RateFileOptions = {
  isDryRun: boolean;
  isPartial: boolean;
  /**
   * Base currency of the rates. If null, the base currency is read from the file, or else the stored base currency is
   * used.
   */
  base: string | null;
  /** Whether the decimal separator is a comma. */
  hasDecimalComma: boolean;
  /** Whether to remove stored rates that the file does not contain. */
  replaces: boolean;
};

export type ImportedRates = {
  base: string;
  /** Number of rates that are new or differ from the stored rates. `removed` is the number of removed rates. */
  changed: number;
  removed: number;
  file: DryRunView;
};

/**
 * Adds the rates in a file to the stored rates, or replaces the stored rates with them. Imports all readable rows, or
 * nothing if more than 1% of the rows are unreadable.
 * @throws AppError unknown_header; invalid_request with lines and columns, or if the base currency is missing or
 * differs
 */
export async function importRates(work: Work, bytes: Buffer, options: RateFileOptions): Promise<ImportedRates> {
  const before = await readExchangeRates(work, options.isDryRun ? '' : 'for update');
  const { base, rates, counter } = await readRates(bytes, options, before.base);
  if (before.base !== null && before.base !== base && before.rates.length > 0 && !options.replaces)
    throw refuse('base', problem('storedBase', { base, stored: before.base }));
  const retained = options.replaces ? [] : before.rates.map((rate) => ({ ...rate, rate: String(rate.rate) }));
  const all = new Map([...retained, ...rates].map((rate) => [keyOf(rate), rate]));
  const stored = new Map(before.rates.map((rate) => [keyOf(rate), rate.rate]));
  const isSameBase = before.base === base;
  const changed = rates.filter((rate) => !isSameBase || stored.get(keyOf(rate)) !== Number(rate.rate));
  for (let at = changed.length; at < rates.length; at += 1) counter.addDuplicate();
  await warnOfJumps(counter, all.values());
  if (all.size > maxStoredRates)
    throw new AppError('invalid_request', {
      message: problem('maxRates', { max: maxStoredRates }),
    });
  if (!options.isDryRun) {
    counter.requireFewBad(options.isPartial);
    await saveExchangeRates(work, before, base, [...all.values()]);
  }
  const removed = before.rates.filter((rate) => !all.has(keyOf(rate))).length;
  return { base, changed: changed.length, removed, file: counter.view() };
}

const refuse = (name: string, message: Problem): AppError =>
  new AppError('invalid_request', { details: [{ path: `/querystring/${name}`, message }] });

type ReadRates = { base: string; rates: NewRate[]; counter: FileCounter };

/** Reads a file of rates in slices, so that it does not block other requests. */
async function readRates(bytes: Buffer, options: RateFileOptions, storedBase: string | null): Promise<ReadRates> {
  const { layout, batches } = await openDelimitedFile(bytes, rateFormat);
  const counter = createFileCounter(layout);
  const reader = createRateReader(layout, options, storedBase);
  const rates: NewRate[] = [];
  const pace = createPacer();
  for await (const batch of batches)
    for (const row of batch) {
      const result = reader.read(row);
      const values = (): Record<string, string> =>
        Object.fromEntries(
          layout.columns.flatMap(({ role }, at) => (role === null ? [] : [[role, (row.cells[at] ?? '').trim()]])),
        );
      if ('message' in result) counter.refuse(row, result, values);
      else {
        counter.accept(row, () => ({ ...values(), ...result.sample }));
        if (result.isRepeated) counter.addDuplicate();
        rates.push(...result.rates);
      }
      await pace();
    }
  return { base: reader.base(), rates, counter };
}

type RateRow = { rates: NewRate[]; isRepeated: boolean; sample: Record<string, string> };
type RowProblem = { column?: string; message: Problem };

/**
 * Returns a function that converts rows to rates. If two rows have different rates for the same currency and day, the
 * second one is rejected.
 */
function createRateReader({ columns }: Layout, options: RateFileOptions, storedBase: string | null) {
  const at = (role: string): number => columns.findIndex((column) => column.role === role);
  const [currencyAt, rateAt, dayAt, baseAt] = ['currency', 'rate', 'valid_from', 'base'].map(at) as [
    number,
    number,
    number,
    number,
  ];
  const currencies = columns.flatMap(({ role }, index) =>
    role === null || ownColumns.includes(role) ? [] : [{ currency: role, index }],
  );
  const isLong = currencyAt >= 0 && rateAt >= 0;
  requireOneKind(columns, isLong, currencies);
  let base = options.base;
  const seenRates = new Map<string, { rate: string; line: number }>();

  function read({ line, cells, problem: ofRow }: FileRow): RateRow | RowProblem {
    if (ofRow !== null) return { message: ofRow };
    const text = (index: number): string => (index < 0 ? '' : (cells[index] ?? '').trim());
    const day = dayOfText(text(dayAt));
    if (day === null) return { column: 'valid_from', message: notADay };
    const ownBase = text(baseAt).toUpperCase();
    if (ownBase !== '' && base !== null && ownBase !== base)
      return { column: 'base', message: problem('otherBase', { base }) };
    if (ownBase !== '' && !isCurrency(ownBase)) return { column: 'base', message: notACurrency };
    if (ownBase !== '') base = ownBase;
    const cellsOfRates = isLong
      ? [{ currency: text(currencyAt).toUpperCase(), index: rateAt }]
      : currencies.filter(
          ({ currency, index }) => !isAbsent(text(index)) && !(currency === base && text(index) === '1'),
        );
    const row: RateRow = { rates: [], isRepeated: false, sample: { valid_from: day } };
    for (const { currency, index } of cellsOfRates) {
      const rate = decimalOf(text(index), options.hasDecimalComma);
      const column = isLong ? 'rate' : currency;
      if (typeof rate !== 'string') return { column, ...rate };
      const newRate = { currency, rate, valid_from: day };
      const wrong = rateProblem(newRate, base ?? storedBase ?? '');
      if (wrong !== null) return { column: wrong.field === 'rate' ? column : wrong.field, message: wrong.message };
      const before = seenRates.get(keyOf(newRate));
      if (before !== undefined && Number(before.rate) !== Number(rate))
        return { column, message: problem('rateDiffers', { line: before.line }) };
      row.sample[column] = rate;
      if (before !== undefined) row.isRepeated = true;
      else row.rates.push(newRate);
    }
    for (const newRate of row.rates) seenRates.set(keyOf(newRate), { rate: newRate.rate, line });
    return row;
  }

  return {
    read,
    /**
     * Returns the base currency.
     * @throws AppError invalid_request if the call, the file and the stored rates all specify no base currency
     */
    base: (): string => {
      const currency = base ?? storedBase;
      if (currency === null) throw refuse('base', problem('baseRequired'));
      return currency;
    },
  };
}

function requireOneKind(
  columns: Layout['columns'],
  isLong: boolean,
  currencies: readonly { currency: string }[],
): void {
  const names = columns.map(({ name }) => name ?? '').join(', ');
  const message = problem('rateColumns');
  if (isLong === currencies.length > 0)
    throw new AppError('unknown_header', { message: problem('fileLacksColumns'), details: [{ path: names, message }] });
  const twice = currencies.find(
    ({ currency }, at) => currencies.findIndex((other) => other.currency === currency) !== at,
  );
  if (twice !== undefined)
    throw new AppError('invalid_request', {
      details: [{ path: `/columns/${twice.currency}`, message: problem('occursTwice') }],
    });
}

const notADay = problem('rateDay');
const notACurrency = problem('currencyIso');
const months = 'january february march april may june july august september october november december'.split(' ');

/** Parses a date. Returns null if the date is ambiguous, such as `01/02/2026`. */
function dayOfText(text: string): string | null {
  const iso = /^(\d{4})-(\d\d)-(\d\d)(?:[T ]00:00(?::00(?:\.0+)?)?Z?)?$/.exec(text);
  if (iso !== null) return `${iso[1]}-${iso[2]}-${iso[3]}`;
  const parts = /^(\d{1,2}) ([a-z]{3,9}) (\d{4})$/i.exec(text);
  const month = months.findIndex((name) => {
    const monthName = parts?.[2]?.toLowerCase() ?? '';
    return monthName === name || monthName === name.slice(0, 3);
  });
  if (parts === null || month < 0) return null;
  return `${parts[3]}-${String(month + 1).padStart(2, '0')}-${parts[1]?.padStart(2, '0')}`;
}

/**
 * Parses a rate with the given decimal separator. The other separator is rejected rather than treated as a thousands
 * separator.
 */
function decimalOf(cell: string, hasDecimalComma: boolean): string | { message: Problem } {
  const clean = cleanValue(cell);
  if ('problem' in clean) return { message: clean.problem };
  const { value } = clean;
  if (!hasDecimalComma) return value.includes(',') ? { message: problem('decimalComma') } : value;
  if (value.includes('.')) return { message: problem('decimalPoint') };
  return value.replace(',', '.');
}

/**
 * Adds warnings about rates that change by more than half from one day to the next. Such rates are often inverted or in
 * a different unit.
 */
async function warnOfJumps(counter: FileCounter, rates: Iterable<NewRate>): Promise<void> {
  const byCurrency = new Map<string, NewRate[]>();
  for (const rate of rates) getOrInsert(byCurrency, rate.currency, () => []).push(rate);
  const jumps: NewRate[] = [];
  const pace = createPacer();
  for (const dated of byCurrency.values()) {
    dated.sort((a, b) => (a.valid_from < b.valid_from ? -1 : 1));
    for (const [at, rate] of dated.entries()) {
      const factor = Number(rate.rate) / Number(dated[at - 1]?.rate ?? rate.rate);
      if (factor > 2 || factor < 0.5) jumps.push(rate);
    }
    await pace();
  }
  if (jumps.length === 0) return;
  const days = jumps.slice(0, 3).map(keyOf).join(', ');
  const message = `A rate is more than twice or less than half of the one before: ${days}.`;
  counter.addWarning({ code: 'rate_jumps', message, count: jumps.length });
}

/** Maximum file size, in bytes. Even a file with 20,000 rates, one per row, is smaller. */
export const maxRateFileBytes = 4 * 1024 * 1024;
