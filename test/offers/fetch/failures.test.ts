import { afterEach, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
afterEach(() => t.close());

/** A public URL that is too long for a QR code. Only an empty response can be rendered with it. */
const unrenderable = { config: { publicUrl: `http://perks.test/${'x'.repeat(2000)}` } };

const all = '';
const none = '&campaignId=0';

async function fetchOffers(query: string): Promise<number> {
  const url = `/native/v4/offers.json?api_key=demo-key${query}`;
  return (await t.app.inject({ method: 'POST', url, payload: { placement: 'checkout' } })).statusCode;
}

test.each([
  ['without caps', {}],
  ['with caps', { total_caps: [{ metric: 'impressions', per: 'day', limit: 1000 }] }],
])('a response that cannot be rendered does not make the rest of its batch fail, %s', async (_name, rules) => {
  t = await createTestApp(unrenderable);
  await t.pool.query('update campaigns set rules = $1', [rules]);
  await t.deps.catalog.refresh();
  const queries = Array.from({ length: 12 }, (_, index) => (index % 3 === 1 ? all : none));
  const statuses = await Promise.all(queries.map(fetchOffers));
  expect(statuses).toEqual(queries.map((query) => (query === none ? 200 : 500)));
  const { rows } = await t.pool.query('select count(*)::int as count from sessions');
  expect(rows).toEqual([{ count: queries.length }]);
});
