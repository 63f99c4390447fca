import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPool } from '../../../src/platform/db/pool.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { startRelay } from '../../tracking/journey.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import {
  addEndpoint,
  attemptsOf,
  deliveryOf,
  enqueueDelivery,
  startHook,
  startTestDispatcher,
  until,
} from './support.ts';

let t: WebhooksApp;
beforeAll(async () => {
  t = await createWebhooksApp();
});
afterAll(() => t.close());

test('calls complete without repeats during a database outage, and deliveries resume after it', async () => {
  const relay = await startRelay(t.databaseUrl);
  const logs: { level: number; msg: string }[] = [];
  const logger = createLogger('debug', { write: (line) => void logs.push(JSON.parse(line)) });
  const pool = createPool({ url: relay.url, size: 4, applicationName: 'test', onError: () => {} });
  let release: () => void = () => {};
  const hook = await startHook((response, _taken, count) => {
    if (count > 1) response.end();
    else release = () => void response.end();
  });
  const endpoint = await addEndpoint(t, hook.url);
  const dispatcher = await startTestDispatcher(t, { databaseUrl: relay.url, pool, logger });

  const inFlight = await enqueueDelivery(t, endpoint);
  await until(() => hook.requests.length, 1);
  relay.cut();
  release();
  const waiting = await enqueueDelivery(t, endpoint);
  const timesLogged = (text: string): number => logs.filter(({ msg }) => msg === text).length;
  await expect.poll(() => timesLogged('writing settlements failed; will retry')).toBeGreaterThan(1);
  await expect.poll(() => timesLogged('dispatcher connection failed')).toBeGreaterThan(3);
  expect(await deliveryOf(t, inFlight)).toMatchObject({ status: 'pending', leased: true });
  expect(hook.requests).toHaveLength(1);

  relay.restore();
  await until(async () => (await deliveryOf(t, waiting)).status, 'delivered');
  await until(async () => (await deliveryOf(t, inFlight)).status, 'delivered');
  expect(hook.requests).toHaveLength(2);
  expect(await attemptsOf(t, inFlight)).toHaveLength(1);
  expect(logs.filter(({ level }) => level >= 40).map(({ msg }) => msg)).toEqual([
    'dispatcher lost its database connection',
  ]);

  await dispatcher.stop();
  await pool.end();
  await hook.close();
  relay.close();
});
