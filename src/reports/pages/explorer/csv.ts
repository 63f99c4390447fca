import { byteOrderMark, csvLine } from '../../../platform/lib/csv.ts';
import { currenciesOf, inCurrency, type Metrics, sumOf } from '../../metrics.ts';
import { isIdDimension } from '../../query/query.ts';
import { viewValue } from '../../view.ts';
import type { AnswerRow, ReportAnswer } from './answer.ts';
import { hasValue, metricOf } from './metrics.ts';
import type { Names } from './names.ts';
import { attributeOf, type ExplorerState } from './state.ts';

/**
 * Line in the CSV file. `isFurther` means that the line contains only amounts, because the counts for the same row are
 * on an earlier line.
 */
type CsvRow = AnswerRow & { currency: string; isFurther: boolean };
type Column = { heading: string; of: (row: CsvRow) => string | number };

/**
 * Splits a row into one CSV line per currency, because amounts in different currencies are never added. A row without
 * amounts gets the currency of the report.
 */
function byCurrency(row: AnswerRow, reportCurrency: string | null): CsvRow[] {
  const currencies = currenciesOf([row.now, row.before]);
  if (currencies.length < 2) return [{ ...row, currency: currencies[0] ?? reportCurrency ?? '', isFurther: false }];
  return currencies.map((currency, index) => ({
    ...row,
    now: inCurrency(row.now, currency),
    before: row.before === null ? null : inCurrency(row.before, currency),
    currency,
    isFurther: index > 0,
  }));
}

type TableOptions = {
  names: Names;
  /** Currency of the whole report, or null if it has several. */
  currency: string | null;
};

/** All rows of a report. Each line has a cell for each heading. */
type ReportTable = { headings: string[]; lines: (string | number)[][] };

/**
 * Returns all rows of a report, with names next to IDs, and each metric next to its value in the comparison period.
 * Rates are percentages, as on the page.
 */
export function reportTable(
  state: ExplorerState,
  { rows, periods }: ReportAnswer,
  { names, currency }: TableOptions,
): ReportTable {
  const hasMoney = state.metrics.some((name) => metricOf(name).kind === 'money');
  const columns = [
    ...groupColumns(state, periods.interval, names),
    ...metricColumns(state, periods.before !== null),
    ...(hasMoney ? [{ heading: 'currency', of: (row: CsvRow) => row.currency }] : []),
  ];
  const written = rows.flatMap((row) =>
    hasMoney ? byCurrency(row, currency) : [{ ...row, currency: '', isFurther: false }],
  );
  return {
    headings: columns.map(({ heading }) => heading),
    lines: written.map((row) => columns.map(({ of }) => of(row))),
  };
}

/**
 * Writes a report as CSV (RFC 4180).
 * @param bom whether the file begins with a byte order mark, so that Excel reads it as UTF-8
 */
export function toReportCsv(state: ExplorerState, answer: ReportAnswer, options: TableOptions, bom = false): string {
  const { headings, lines } = reportTable(state, answer, options);
  return `${bom ? byteOrderMark : ''}${[headings, ...lines].map(csvLine).join('')}`;
}

const groupColumns = (state: ExplorerState, interval: string, names: Names): Column[] => [
  ...columnsOfFirst(state, interval, names),
  ...state.also.flatMap((name, index) => {
    const of = ({ also }: AnswerRow) => also[index];
    const text = { heading: name, of: (row: AnswerRow) => of(row)?.text ?? '' };
    if (!isIdDimension(name)) return [{ heading: name, of: (row: AnswerRow) => of(row)?.value ?? '' }];
    return [{ heading: `${name}_id`, of: (row: AnswerRow) => Number(of(row)?.value) }, text];
  }),
];

function columnsOfFirst({ by }: ExplorerState, interval: string, names: Names): Column[] {
  const value: Column['of'] = (row) => row.value;
  if (by === 'time') return [{ heading: interval === 'day' ? 'date' : 'hour', of: value }];
  const id = { heading: `${by}_id`, of: ({ value: text }: AnswerRow) => Number(text) };
  const name = { heading: by, of: ({ text }: AnswerRow) => text };
  if (by === 'advertiser') return [id, name];
  if (by === 'campaign') {
    const advertiser = (row: AnswerRow): string => names.campaign(Number(row.value))?.advertiserName ?? '';
    return [id, name, { heading: 'advertiser', of: advertiser }];
  }
  if (by !== 'offer') return [{ heading: attributeOf(by) ?? by, of: value }];
  const campaignOf = (row: AnswerRow) => names.offer(Number(row.value))?.campaign;
  return [
    id,
    name,
    { heading: 'campaign_id', of: (row) => campaignOf(row)?.id ?? '' },
    { heading: 'campaign', of: (row) => campaignOf(row)?.name ?? '' },
    { heading: 'advertiser', of: (row) => campaignOf(row)?.advertiserName ?? '' },
  ];
}

const none = sumOf([]);

/** Converts a ratio to a percentage with two decimals, as pages show it. */
const percentOf = (ratio: number): number => Math.round(ratio * 10_000) / 100;

const metricColumns = ({ metrics, by }: ExplorerState, isCompared: boolean): Column[] =>
  metrics.flatMap((name) => {
    const isAmount = name === 'revenue' || name === 'unbilled';
    const isRate = metricOf(name).kind === 'rate';
    const heading = isRate ? `${name}_percent` : name;
    const of = (sums: Metrics, isFurther: boolean): number | '' => {
      if (!hasValue(metricOf(name), sums, by) || (isFurther && !isAmount)) return '';
      return isRate ? percentOf(viewValue(name, sums)) : viewValue(name, sums);
    };
    return [
      { heading, of: ({ now, isFurther }: CsvRow) => of(now, isFurther) },
      ...(isCompared
        ? [{ heading: `${heading}_before`, of: ({ before, isFurther }: CsvRow) => of(before ?? none, isFurther) }]
        : []),
    ];
  });
