import { csvLine } from '../../../platform/lib/csv.ts';
import { type Metrics, sumOf } from '../../metrics.ts';
import { isIdDimension } from '../../query/query.ts';
import { viewValue } from '../../view.ts';
import type { Answer, AnswerRow } from './answer.ts';
import { hasValue, metricOf } from './metrics.ts';
import type { Names } from './names.ts';
import { attributeOf, type ExplorerState } from './state.ts';

type Column = { heading: string; of: (row: AnswerRow) => string | number };

/** All rows as CSV (RFC 4180): names beside ids, and each metric beside that of the range before. */
export function toReportCsv(state: ExplorerState, { rows, periods }: Answer, names: Names): string {
  const columns = [...groupColumns(state, periods.interval, names), ...metricColumns(state, periods.before !== null)];
  const lines = [columns.map(({ heading }) => heading), ...rows.map((row) => columns.map(({ of }) => of(row)))];
  return lines.map(csvLine).join('');
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

const metricColumns = ({ metrics, by }: ExplorerState, isCompared: boolean): Column[] =>
  metrics.flatMap((name) => {
    const of = (sums: Metrics): number | '' => (hasValue(metricOf(name), sums, by) ? viewValue(name, sums) : '');
    return [
      { heading: name, of: ({ now }: AnswerRow) => of(now) },
      ...(isCompared ? [{ heading: `${name}_before`, of: ({ before }: AnswerRow) => of(before ?? none) }] : []),
    ];
  });
