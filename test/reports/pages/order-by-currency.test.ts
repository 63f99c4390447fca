import { afterAll, beforeAll, expect, test } from 'vitest';
import { signInAs, type TestUser } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { addSums } from '../support.ts';

/** Sunday, 22 November 2026, 14:30 UTC. */
const nowMs = Date.UTC(2026, 10, 22, 14, 30);
let t: TestApp;
let analyst: TestUser;

/** Revenue of offers by placement, in units. Offers 1 and 2 are paid in USD, 3 and 4 in JPY. Offer 5 has no revenue. */
const facts: [offerId: number, placement: string, revenue: number, day: number][] = [
  [1, 'a', 5, 20],
  [2, 'b', 9, 20],
  [3, 'c', 300, 20],
  [4, 'd', 1, 20],
  [5, 'e', 0, 20],
  [1, 'mixed', 0.5, 20],
  [3, 'mixed', 700, 20],
  // Revenue of the previous week.
  [1, 'a', 50, 13],
  [2, 'b', 1, 13],
  [3, 'c', 900, 13],
  [4, 'd', 1, 13],
];

beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
  await t.pool.query("update publishers set time_zone = 'UTC' where id = $1", [t.publisher.id]);
  await t.pool.query("select create_report_partitions('2026-10-01', '2026-11-30')");
  const { rows } = await t.pool.query<{ id: number; campaign_id: number }>(
    'select distinct on (campaign_id) min(id) over (partition by campaign_id) as id, campaign_id from offers limit 5',
  );
  const currencies = ['USD', 'USD', 'JPY', 'JPY', 'USD'];
  for (const [at, { id, campaign_id }] of rows.entries()) {
    await t.pool.query('update campaigns set payout_currency = $2 where id = $1', [campaign_id, currencies[at]]);
    await t.pool.query('update offers set title = $2 where id = $1', [id, `Offer ${at + 1}`]);
  }
  await t.deps.catalog.refresh();
  await addSums(
    t,
    facts.map(([number, placement, revenue, day]) => ({
      at: new Date(Date.UTC(2026, 10, day, 10)),
      placement,
      impressions: 3,
      revenue_micros: revenue * 1e6,
      offerId: rows[number - 1]?.id ?? 0,
      campaignId: rows[number - 1]?.campaign_id ?? 0,
    })),
  );
  analyst = await signInAs(t, 'analyst');
});
afterAll(() => t.close());

const days = 'from=2026-11-16&to=2026-11-22';
const page = async (query: string, language = 'en'): Promise<string> =>
  (await analyst.get(`/dashboard/p/${t.publisher.id}/reports?${days}&${query}`, { 'accept-language': language })).body;
/** Returns the first cell of each table row, in order. */
const order = async (query: string): Promise<string[]> =>
  [
    ...((await page(query)).split('<table>').at(-1)?.split('<tfoot>')[0] ?? '').matchAll(
      /<tr>\s*<td[^>]*>([\s\S]*?)<\/td>/g,
    ),
  ].map(
    ([, cell = '']) =>
      cell
        .replaceAll(/<[^>]*>/g, ' ')
        .trim()
        .split(/\s/)[0] ?? '',
  );

test.each([
  ['most', ['c', 'd', 'b', 'a', 'mixed', 'e']],
  ['least', ['e', 'd', 'c', 'a', 'b', 'mixed']],
  ['change', ['c', 'd', 'a', 'b', 'mixed', 'e']],
  ['name', ['a', 'b', 'c', 'd', 'e', 'mixed']],
])('rows in several currencies sorted by %s never compare amounts of different currencies', async (sort, rows) => {
  expect(await order(`by=placement&metrics=impressions,revenue&metric=revenue&compare=previous&sort=${sort}`)).toEqual(
    rows,
  );
});

test('a note in English or German appears only when rows are grouped by currency', async () => {
  const query = 'by=placement&metrics=revenue,impressions';
  const text = 'Grouped by currency, because amounts in different currencies can’t be compared.';
  expect(await page(`${query}&metric=revenue`)).toContain(text);
  expect(await page(`${query}&metric=revenue`, 'de')).toContain('Nach Währung gruppiert');
  expect(await page(`${query}&metric=impressions`)).not.toContain(text);
  expect(await page(`${query}&metric=revenue&placement=a&placement=b`)).not.toContain(text);
});
