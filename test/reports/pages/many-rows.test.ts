import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPublisher } from '../../../bench/catalogue.ts';
import { signInAs, type TestUser } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { addSums } from '../support.ts';

/** Friday, 20 November 2026, 14:30 UTC. */
const nowMs = Date.UTC(2026, 10, 20, 14, 30);
const [offers, activeOffers] = [240, 235];
let t: TestApp;
let operator: TestUser;
let publisherId: number;

// Rollups of 240 offers of 60 advertisers in two weeks. Many have equal values, so that names decide their order.
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
  publisherId = await createPublisher(t.pool, { key: 'many-rows', campaigns: offers });
  await t.pool.query("update publishers set time_zone = 'UTC' where id = $1", [publisherId]);
  await t.pool.query("select create_report_partitions('2026-10-01', '2026-11-30')");
  await t.deps.catalog.refresh();
  const { rows } = await t.pool.query<{ id: number; campaign_id: number }>(
    'select id, campaign_id from offers where publisher_id = $1 order by id',
    [publisherId],
  );
  await addSums(
    { ...t, publisher: { ...t.publisher, id: publisherId } },
    rows.flatMap(({ id, campaign_id: campaignId }, index) =>
      [13, 20].map((day) => ({
        at: new Date(Date.UTC(2026, 10, day, 10)),
        placement: 'checkout',
        offerId: id,
        campaignId,
        country: ['DE', 'US', 'FR'][index % 3] as string,
        ...(index < activeOffers
          ? {
              impressions: ((index * 37 + day) % 11) * 3,
              clicks: (index * day) % 4,
              sessions: 40 + ((index * 7 + day) % 9),
              filled_sessions: 20 + ((index * 5 + day) % 9),
              revenue_micros: (1 + ((index * 13 + day) % 5)) * 1e6,
            }
          : { closes: 1 }),
      })),
    ),
  );
  operator = await signInAs(t, 'operator');
});
afterAll(() => t?.close());

const page = async (query: string, firstDay = 16): Promise<string> =>
  (await operator.get(`/dashboard/p/${publisherId}/reports?from=2026-11-${firstDay}&to=2026-11-20&${query}`)).body;
const textOf = (part = ''): string => part.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const rowsOf = (body: string): string[] =>
  [...(body.split('<table>').at(-1)?.split('<tfoot>')[0] ?? '').matchAll(/<tr>([\s\S]*?)<\/tr>/g)].map(([, row]) =>
    textOf(row),
  );
const insightOf = (body: string): string => textOf(/<p class="insight">([\s\S]*?)<\/p>/.exec(body)?.[1]);
const barsOf = (body: string): string => textOf(/<ul class="bars"[^>]*>([\s\S]*?)<\/ul>/.exec(body)?.[1]);

const metrics = 'metrics=impressions,clicks,ctr,revenue';
const sorts = ['most', 'least', 'change', 'name'];
test.each([
  ...sorts.flatMap((sort) => ['impressions', 'ctr', 'revenue'].map((metric) => [sort, metric, 'by=offer'])),
  ...sorts.map((sort) => [sort, 'ctr', 'by=campaign&also=offer']),
  ...sorts.map((sort) => [sort, 'revenue', 'by=offer&also=country&compare=none']),
  ...sorts.map((sort) => [sort, 'impressions', 'by=country&also=offer']),
])('the first rows of 235, sorted by %s %s, are those of the complete report %s', async (sort, metric, by) => {
  const query = `${by}&${metrics}&metric=${metric}&sort=${sort}&view=bar`;
  const [first, complete] = [await page(query), await page(`${query}&rows=all`)];
  expect(rowsOf(complete)).toHaveLength(activeOffers + 1);
  expect(rowsOf(first)).toEqual(rowsOf(complete).slice(0, 51));
  expect(first).toContain(`Show all ${activeOffers} rows`);
  expect(insightOf(first)).toBe(insightOf(complete));
  expect(barsOf(first)).toBe(barsOf(complete));
  expect(first.split('<tfoot>')[1]?.split('</tfoot>')[0]).toBe(complete.split('<tfoot>')[1]?.split('</tfoot>')[0]);
});

// The sessions of advertisers with several campaigns are unknown. All but one advertiser have several.
test.each(sorts.flatMap((sort) => ['impressions', 'revenue', 'ctr', 'fill_rate'].map((metric) => [sort, metric])))(
  'the first rows of 60 advertisers, sorted by %s %s, are those of the complete report',
  async (sort, metric) => {
    const query = `by=advertiser&${metrics},fill_rate&metric=${metric}&sort=${sort}&view=bar`;
    const [first, complete] = [await page(query), await page(`${query}&rows=all`)];
    expect(rowsOf(complete)).toHaveLength(59 + 1);
    expect(rowsOf(first)).toEqual(rowsOf(complete).slice(0, 51));
    expect(insightOf(first)).toBe(insightOf(complete));
    expect(barsOf(first)).toBe(barsOf(complete));
  },
);

test('campaigns that are no longer in the catalogue are one row of a report by advertiser', async () => {
  await t.pool.query(
    `update campaigns set deleted_at = now() - interval '40 days' where id in (
      select campaign_id from offers where publisher_id = $1 order by id limit 3)`,
    [publisherId],
  );
  await t.deps.catalog.refresh();
  const query = `by=advertiser&${metrics}&metric=impressions`;
  const [first, complete] = [await page(query), await page(`${query}&rows=all`)];
  expect(textOf(complete)).toContain('Removed advertisers');
  expect(rowsOf(first)).toEqual(rowsOf(complete).slice(0, 51));
});

test('the rows of a range that ends today, in the middle of a week, add up to its total', async () => {
  const body = await page('by=offer&metrics=impressions&metric=impressions&compare=none&rows=all', 10);
  const figures = rowsOf(body)
    .slice(1)
    .map((row) => Number(row.trim().split(' ').at(-1)));
  const total = Number(
    textOf(body.split('<tfoot>')[1]?.split('</tfoot>')[0]).trim().split(' ').at(-1)?.replace(',', ''),
  );
  expect(figures).toHaveLength(activeOffers);
  expect(figures.reduce((sum, figure) => sum + figure, 0)).toBe(total);
  expect(total).toBeGreaterThan(3000);
});

test('the rows of offers in several currencies are those of the complete report', async () => {
  await t.pool.query("update rollup_money set currency = 'JPY' where offer_id % 2 = 0");
  for (const metric of ['impressions', 'revenue']) {
    const query = `by=offer&${metrics}&metric=${metric}&view=bar`;
    const [first, complete] = [await page(query), await page(`${query}&rows=all`)];
    expect(rowsOf(first)).toEqual(rowsOf(complete).slice(0, 51));
    expect(barsOf(first)).toBe(barsOf(complete));
  }
});
