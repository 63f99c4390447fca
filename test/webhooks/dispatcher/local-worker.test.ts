import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { outboxChannel, setLocalWorker } from '../../../src/webhooks/outbox.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { addEndpoint, createParts, deliveryOf, enqueueDelivery, type TestEndpoint, until } from './support.ts';

let t: WebhooksApp;
let listener: pg.Client;
let notifications = 0;
beforeAll(async () => {
  t = await createWebhooksApp();
  listener = new pg.Client({ connectionString: t.databaseUrl });
  await listener.connect();
  listener.on('notification', () => {
    notifications += 1;
  });
  await listener.query(`listen ${outboxChannel}`);
});
afterAll(async () => {
  await listener.end();
  await t.close();
});
const parts = createParts(() => t);
afterEach(async () => {
  setLocalWorker(t.pool, null);
  await parts.end();
});

/** Polls so rarely that a delivery without a notification or a direct call would not be sent. */
const pollMs = 3_600_000;

/** Queues a delivery, and returns the number of notifications that were sent until it was delivered. */
async function notificationsUntilDelivered(endpoint: TestEndpoint): Promise<number> {
  const before = notifications;
  const id = await enqueueDelivery(t, endpoint);
  await until(async () => (await deliveryOf(t, id)).status, 'delivered');
  await listener.query('select 1'); // earlier notifications have arrived by now
  return notifications - before;
}

test('the only worker gets the deliveries of its own process without a notification', async () => {
  const hook = await parts.hook();
  const endpoint = await addEndpoint(t, hook.url);
  const { localWorker } = await parts.dispatcher({ pollMs });
  setLocalWorker(t.pool, localWorker);
  // Until the first claim, the worker does not know whether it is alone.
  expect(await notificationsUntilDelivered(endpoint)).toBe(1);
  for (let round = 0; round < 5; round++) expect(await notificationsUntilDelivered(endpoint)).toBe(0);
  expect(hook.requests).toHaveLength(6);
});

test('other workers are notified once a claim has found them, and after the local worker has stopped', async () => {
  const hook = await parts.hook();
  const endpoint = await addEndpoint(t, hook.url);
  const first = await parts.dispatcher({ pollMs });
  setLocalWorker(t.pool, first.localWorker);
  await notificationsUntilDelivered(endpoint);
  expect(await notificationsUntilDelivered(endpoint)).toBe(0);
  await parts.dispatcher({ pollMs });
  await notificationsUntilDelivered(endpoint);
  expect(await notificationsUntilDelivered(endpoint)).toBe(1);
  await first.stop();
  expect(await notificationsUntilDelivered(endpoint)).toBe(1);
});
