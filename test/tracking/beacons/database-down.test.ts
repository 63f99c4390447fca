import { afterAll, beforeAll, expect, test } from 'vitest';
import { cloneDatabase } from '../../support/database.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { call, type ShownOffer, showOffer, startRelay, storedEvents } from '../journey.ts';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let relay: Awaited<ReturnType<typeof startRelay>>;
let testApp: TestApp;
let offer: ShownOffer;

beforeAll(async () => {
  database = await cloneDatabase();
  relay = await startRelay(database.url);
  testApp = await createTestApp({ databaseUrl: relay.url });
  offer = await showOffer(testApp);
});
afterAll(async () => {
  await testApp?.close();
  relay?.close();
  await database?.drop();
});

const statusesOf = async (urls: string[]): Promise<number[]> =>
  (await Promise.all(urls.map((url) => call(testApp, url)))).map((response) => response.statusCode);

test('beacons get 503 with retry-after during a database outage, and 200 afterwards', async () => {
  const urls = [offer.pixel, offer.beacons.close, offer.beacons.no_thanks_click, offer.click_url];
  relay.cut();
  // Send requests at the moment of the failure, when a write may have succeeded without an answer, and again once the
  // outage is known.
  const atOnce = await Promise.all(urls.map((url) => call(testApp, url)));
  await expect.poll(testApp.deps.dbHealth.isUp).toBe(false);
  const later = await Promise.all(urls.map((url) => call(testApp, url)));
  for (const response of [...atOnce, ...later]) {
    expect(response.statusCode).toBe(503);
    expect(response.headers['retry-after']).toBe('1');
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.headers.location).toBeUndefined();
    expect(response.json().error.code).toBe('unavailable');
  }
  relay.restore();
  await expect.poll(() => statusesOf(urls)).toEqual([200, 200, 200, 302]);
  expect((await storedEvents(testApp)).map((event) => event.kind).sort()).toEqual([
    'click',
    'close',
    'impression',
    'no_thanks',
  ]);
});

test('an invalid token gets 400 during a database outage', async () => {
  relay.cut();
  await expect.poll(testApp.deps.dbHealth.isUp).toBe(false);
  expect((await call(testApp, '/sdk/v2/impression/p.png?t=nonsense')).statusCode).toBe(400);
  relay.restore();
  await expect.poll(testApp.deps.dbHealth.isUp).toBe(true);
});
