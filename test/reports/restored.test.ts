import { afterAll, beforeAll, expect, test } from 'vitest';
import { continueRestoredRollups } from '../../src/reports/restored.ts';
import { moveAhead } from '../support/restored.ts';
import { createTestApp, type TestApp } from '../support/test-app.ts';
import { call, fetchOffers } from '../tracking/journey.ts';
import { activity, differences, nonZero, rollUpAll } from './support.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

/** Fetches offers, and sends an impression for each. */
async function visit(): Promise<void> {
  const { offers } = await fetchOffers(t, { placement: 'checkout' });
  for (const offer of offers) await call(t, offer.pixel);
}

const sessions = async () => nonZero((await activity(t))[0]?.metrics).sessions;

test('reports stay exact after a restore, and count every row once', async () => {
  expect(await continueRestoredRollups(t.databaseUrl)).toBe(false);
  await visit();
  await rollUpAll(t);
  await visit();
  await moveAhead(t.pool);
  expect(await continueRestoredRollups(t.databaseUrl)).toBe(true);
  await visit();
  await rollUpAll(t);
  expect([await sessions(), await differences(t)]).toEqual([3, []]);
  expect(await continueRestoredRollups(t.databaseUrl)).toBe(false);
});
