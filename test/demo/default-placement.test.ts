import { afterAll, beforeAll, expect, test } from 'vitest';
import { embeddedDemoIds } from '../../src/demo/catalogue.ts';
import { startDemo } from '../../src/demo/start.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ demo: true });
});
afterAll(() => t?.close());

test('the demo responds to clients that specify no placement', async () => {
  await t.pool.query('truncate publishers cascade');
  expect(await startDemo(t.deps)).toBe(true);
  await t.deps.catalog.refresh();
  for (const payload of [undefined, {}, { placement: '' }, { placement: null }]) {
    const answer = await t.app.inject({
      method: 'POST',
      url: `/native/v2/offers.json?accountId=${embeddedDemoIds.sdkId}`,
      ...(payload !== undefined && { payload }),
    });
    expect([payload, answer.statusCode]).toEqual([payload, 200]);
    expect(answer.json().data.count).toBeGreaterThan(0);
  }
  const { rows } = await t.pool.query('select distinct placement from sessions');
  expect(rows).toEqual([{ placement: 'checkout' }]);
});
