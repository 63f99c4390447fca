import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Metrics, withMoney } from '../../../src/reports/metrics.ts';
import { createWriter } from '../../../src/reports/query/byte-writer.ts';
import type { ActivityRow, ReportRequest } from '../../../src/reports/query/types.ts';
import { toCsv, toJsonItems } from '../../../src/reports/view.ts';

const counts = {
  sessions: 3,
  filled_sessions: 2,
  impressions: 4,
  clicks: 1,
  no_thanks: 0,
  closes: 0,
  own_events: 0,
  saves: 0,
  selections: 0,
  conversions: -1,
};
const amounts = { revenue_micros: -1_250_000, unbilled_micros: 500_000 };
const metrics: Metrics = withMoney({ ...counts, ...amounts }, [
  { currency: 'USD', revenueMicros: amounts.revenue_micros, unbilledMicros: amounts.unbilled_micros },
]);
const request = { names: ['plan'], query: { aggregatedBy: 'hour' } } as unknown as ReportRequest;
const rowOf = (value: string): ActivityRow => ({
  time: '2026-11-21T13:00:00+05:45',
  startMs: 0,
  group: [value],
  metrics,
});
const numbers = '3,2,4,1,0,0,0,0,0,-1,-1.25,0.5,0.25,-1,-416.666667,0.666667,USD';

test.each([
  ['=1+1', "'=1+1"],
  ['+49 30', "'+49 30"],
  ['-2', "'-2"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['  =1', "'  =1"],
  ['\u200b=1', "'\u200b=1"],
  ['\u00a0@x', "'\u00a0@x"],
  ['\ufeff-x', "'\ufeff-x"],
  ['＝1', "'＝1"],
  ['\tx', "'\tx"],
  ['\r=1', `"'\r=1"`],
  ['a,"b"', '"a,""b"""'],
  ['a=1', 'a=1'],
  ['🎁', '🎁'],
])('CSV writes %j as %j, and amounts as plain numbers', (value, written) => {
  const csv = Buffer.concat([...toCsv(request, [rowOf(value)], 'USD')]).toString();
  expect(csv.slice(csv.indexOf('\n') + 1)).toBe(`2026-11-21,2026-11-21T13:00:00+05:45,${written},${numbers}\r\n`);
});

test('a report of thousands of rows is complete as JSON and as CSV', () => {
  const rows = Array.from({ length: 1501 }, (_, index) => rowOf(`"${index}\u2028`));
  const items = JSON.parse(`[${Buffer.concat([...toJsonItems(request, rows, 'USD')])}]`);
  expect(items).toHaveLength(1501);
  expect(items[1500]).toEqual({
    date: '2026-11-21',
    hour: '2026-11-21T13:00:00+05:45',
    plan: '"1500\u2028',
    ...counts,
    revenue: -1.25,
    unbilled: 0.5,
    ctr: 0.25,
    cvr: -1,
    rpm: -416.666667,
    fill_rate: 0.666667,
    currency: 'USD',
    revenue_by_currency: [{ currency: 'USD', revenue: -1.25, unbilled: 0.5 }],
  });
  expect(
    Buffer.concat([...toCsv(request, rows, 'USD')])
      .toString()
      .split('\r\n'),
  ).toHaveLength(1503);
});

test('any amount, count or rate is written as an equal number', () => {
  const numberOf = (value: number): string => {
    const writer = createWriter();
    writer.put(Buffer.from('='));
    writer.number(value);
    return writer.take().toString().slice(1);
  };
  const millionths = fc.integer({ min: -(2 ** 51), max: 2 ** 51 }).map((micros) => micros / 1e6);
  fc.assert(
    fc.property(fc.oneof(fc.integer(), fc.maxSafeInteger(), millionths), (value) => {
      expect(numberOf(value)).toBe(String(value));
    }),
    { numRuns: 2000 },
  );
  expect([0, -0, 0.000001, -0.5, 999999999.999999, 1e18].map(numberOf)).toEqual([
    '0',
    '0',
    '0.000001',
    '-0.5',
    '999999999.999999',
    '1000000000000000000',
  ]);
});

test('a value longer than a chunk is complete', () => {
  const long = 'x'.repeat(1_000_000);
  const [item, ...others] = JSON.parse(
    `[${Buffer.concat([...toJsonItems(request, [rowOf(long), rowOf('b')], 'USD')])}]`,
  );
  expect([item.plan.length, item.fill_rate, others[0].plan]).toEqual([1_000_000, 0.666667, 'b']);
});

test('a row with several currencies has one CSV line per currency, with its counts only once', () => {
  const euros = { currency: 'EUR', revenueMicros: 2_000_000, unbilledMicros: 0 };
  const row = { ...rowOf('a'), metrics: withMoney(metrics, [euros, ...metrics.money]) };
  const [, ...lines] = Buffer.concat([...toCsv(request, [row, rowOf('b')], null)])
    .toString()
    .trim()
    .split('\r\n');
  expect(lines.map((line) => line.split(',').slice(2))).toEqual([
    ['a', '3', '2', '4', '1', '0', '0', '0', '0', '0', '-1', '2', '0', '0.25', '-1', '666.666667', '0.666667', 'EUR'],
    ['a', '', '', '', '', '', '', '', '', '', '', '-1.25', '0.5', '', '', '', '', 'USD'],
    ['b', ...numbers.split(',')],
  ]);
  const [item] = JSON.parse(`[${Buffer.concat([...toJsonItems(request, [row], null)])}]`);
  expect(item).toMatchObject({ revenue: null, unbilled: null, rpm: null, currency: null, impressions: 4 });
  expect(item.revenue_by_currency).toHaveLength(2);
});
