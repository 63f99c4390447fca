import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCalls } from '../../../src/offers/request-log/store.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

test('a call with an unknown key is stored without the key if there is only one publisher', async () => {
  const recorded = async () => {
    await t.deps.requestLog.write();
    return readCalls(t.pool, t.publisher.id, { sinceMs: 0, except: [], limit: 9 });
  };
  const url = '/native/v4/offers.json?api_key=pk_nobody_knows_it';
  const fetchOffers = () => t.app.inject({ method: 'POST', url, payload: { placement: 'checkout' } });
  expect((await fetchOffers()).statusCode).toBe(401);
  const calls = await recorded();
  expect(calls.map(({ call }) => call.status)).toEqual([401]);
  expect(JSON.stringify(calls)).not.toContain('nobody_knows_it');
  await t.pool.query("insert into publishers (name, sdk_id) values ('Second', 'eeeeeeeeeeeeeeee')");
  await t.deps.catalog.refresh();
  expect((await fetchOffers()).statusCode).toBe(401);
  expect(await recorded()).toHaveLength(1);
});
