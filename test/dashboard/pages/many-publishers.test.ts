import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { signInAs, type TestUser } from '../support.ts';

let t: TestApp;
let operator: TestUser;

beforeAll(async () => {
  t = await createTestApp();
  // The IDs are in the opposite order of the names.
  await t.pool.query(
    `insert into publishers (name, sdk_id) select 'Shop ' || lpad((201 - n)::text, 3, '0'), lpad(n::text, 16, '0')
    from generate_series(1, 200) n`,
  );
  await t.deps.catalog.refresh();
  operator = await signInAs(t, 'operator');
});
afterAll(() => t?.close());

const namesIn = (body: string): string[] => [...body.matchAll(/Shop \d{3}/g)].map(([name]) => name);
const shops = (first: number, last: number): string[] =>
  Array.from({ length: last - first + 1 }, (_, at) => `Shop ${String(first + at).padStart(3, '0')}`);

test('the search lists the first publishers by name, and finds a publisher by its ID and SDK ID', async () => {
  const find = async (text: string) => namesIn((await operator.get(`/dashboard/find?q=${text}`)).body);
  expect(await find('shop%200')).toEqual(shops(1, 20));
  expect(await find('shop%2019')).toEqual(shops(190, 199));
  expect(await find('0000000000000007')).toEqual(['Shop 194']);
  const { rows } = await t.pool.query<{ id: number }>("select id from publishers where name = 'Shop 123'");
  expect(await find(String(rows[0]?.id))).toContain('Shop 123');
});

test('a campaign is added to one of many publishers, which can be searched by name', async () => {
  const path = `/dashboard/p/${t.publisher.id}/campaigns/1/publishers`;
  const page = async (query = '') => (await operator.get(path + query)).body;
  const choices = (body: string): string[] => namesIn(/<select[^>]*name="to"[\s\S]*?<\/select>/.exec(body)?.[0] ?? '');
  expect(choices(await page())).toEqual(shops(1, 100));
  const narrowed = await page('?q=Shop%2019');
  expect(narrowed).toContain('value="Shop 19"');
  expect(choices(narrowed)).toEqual(shops(190, 199));
  expect(await page('?q=nobody')).toContain('No matches');
  expect((await operator.get(`${path}?to=0`)).statusCode).toBe(404);
  expect((await operator.get(`${path}?to=1e0`)).statusCode).toBe(404);
});

test('only operators can search the publishers', async () => {
  const admin = await signInAs(t, 'admin');
  const path = `/dashboard/p/${t.publisher.id}/campaigns/1/publishers?q=shop`;
  expect(namesIn((await admin.get(path)).body)).toEqual([]);
  expect(namesIn((await admin.get(`/dashboard/p/${t.publisher.id}/find?q=shop`)).body)).toEqual([]);
});
