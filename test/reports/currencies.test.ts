import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { call, fetchOffers } from '../tracking/journey.ts';
import { differences, rollUpAll } from './support.ts';

let t: TestApp;
const currencies = ['USD', 'EUR', 'JPY', 'KWD'];
/** Booked amounts by currency, in units. */
const booked = new Map<string, number>();

/** Create campaigns that pay per click in several currencies, and click all offers shown. */
beforeAll(async () => {
  t = await createTestApp();
  const { rows } = await t.pool.query<{ id: number }>('select id from campaigns order by id');
  for (const [index, { id }] of rows.entries())
    await t.pool.query(
      "update campaigns set payout_kind = 'cpc', payout_amount = $2, payout_currency = $3 where id = $1",
      [id, [0.25, 0.000001, 100, 1.125][index % 4], currencies[index % 4]],
    );
  await t.deps.catalog.refresh();
  for (const country of ['DE', 'US', 'JP']) {
    const { offers } = await fetchOffers(t, { country });
    for (const { id, pixel, click_url } of offers) {
      await call(t, pixel);
      await t.pool.query("update events set at = at - interval '5 seconds' where kind = 'impression'");
      await call(t, click_url);
      const campaign = t.deps.catalog.current().offers.get(id)?.campaign;
      const { amountMicros = 0, currency = '' } = campaign?.payout ?? {};
      booked.set(currency, (booked.get(currency) ?? 0) + amountMicros);
    }
  }
  await rollUpAll(t);
});
afterAll(() => t?.close());

const report = async (query: string) => {
  const today = new Date().toISOString().slice(0, 10);
  const url = `/native/activity.json?api_key=${t.publisher.key}&from=${today}&to=${today}${query}`;
  return t.app.inject({ url });
};
type MoneyRow = { currency: string; revenue: number };
type RevenueRow = { currency: string | null; revenue: number | null; revenue_by_currency: MoneyRow[] };

const expected = () =>
  [...booked]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, micros]) => ({ currency, revenue: micros / 1e6, unbilled: 0 }));

/** Adds up the amounts of rows by currency. */
function sumRows(rows: readonly RevenueRow[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { currency, revenue } of rows.flatMap((row) => row.revenue_by_currency))
    sums[currency] = Math.round(((sums[currency] ?? 0) + revenue) * 1e6) / 1e6;
  return sums;
}

test('totals list each currency separately and have no single amount for several currencies', async () => {
  expect(booked.size).toBeGreaterThan(1);
  const { data } = (await report('')).json();
  expect(data.totals).toMatchObject({ revenue: null, unbilled: null, rpm: null, currency: null });
  expect(data.totals.revenue_by_currency).toEqual(expected());
  expect(data).toMatchObject({ currency: null, revenue_by_currency: expected() });
});

test.each(['placement', 'campaign', 'offer', 'country', 'device', 'os', 'country,campaign'])(
  'rows by %s list each currency, and have a single amount only for a single currency',
  async (groupBy) => {
    for (const by of ['day', 'hour']) {
      const { data } = (await report(`&group_by=${groupBy}&aggregated_by=${by}`)).json();
      const rows = data.rows as RevenueRow[];
      expect(sumRows(rows)).toEqual(Object.fromEntries(expected().map((sum) => [sum.currency, sum.revenue])));
      for (const { currency, revenue, revenue_by_currency: sums } of rows)
        expect([currency, revenue]).toEqual(sums.length === 1 ? [sums[0]?.currency, sums[0]?.revenue] : [null, null]);
    }
  },
);

test('CSV has one line per currency, which is given in a column', async () => {
  const { body } = await report('&format=csv');
  const [head = '', ...lines] = body.trim().split('\r\n');
  const at = (name: string): number => head.split(',').indexOf(name);
  const cells = lines.map((line) => line.split(','));
  expect(cells.map((row) => [row[at('currency')], Number(row[at('revenue')])])).toEqual(
    expected().map(({ currency, revenue }) => [currency, revenue]),
  );
  expect(cells.map((row) => row[at('clicks')]).filter((text) => text !== '')).toHaveLength(1);
});

test('a report with one currency keeps its single amount', async () => {
  const [campaign] = [...t.deps.catalog.current().offers.values()].map((offer) => offer.campaign);
  const { data } = (await report(`&campaign=${campaign?.id}`)).json();
  const [sum] = data.totals.revenue_by_currency;
  expect(data.totals).toMatchObject({ currency: campaign?.payout.currency, revenue: sum.revenue });
});

test('totals by currency equal those of the raw rows', async () => {
  expect(await differences(t)).toEqual([]);
});

test('totals from an earlier release get the currency of their campaign in every grouping', async () => {
  const read = async (): Promise<unknown> =>
    (
      await t.pool.query(
        `select grain, bucket, placement, offer_id, country, device, os, currency, revenue_micros from rollup_money
        where grain not in (5, 9, 12) order by 1, 2, 3, 4, 5, 6, 7, 8`,
      )
    ).rows;
  const before = await read();
  await t.pool.query('delete from rollup_money; delete from custom_rollup_money');
  await t.pool.query('update events set currency = null');
  await t.pool.query("select complete_rollup_money('-infinity', 'infinity')");
  expect(await read()).toEqual(before);
  const { rows } = await t.pool.query<{ currency: string; micros: string }>(
    'select currency, sum(revenue_micros) as micros from rollup_money where grain = 5 group by 1',
  );
  expect(rows.map(({ currency }) => currency)).toEqual(['XXX']); // hourly rows with two dimensions do not reveal it
  await t.pool.query('select complete_rollup_money($1, $2)', ['-infinity', 'infinity']);
  expect(await read()).toEqual(before);
});
