import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { transaction } from '../../src/platform/db/pool.ts';
import { enqueue } from '../../src/webhooks/outbox.ts';
import { createWebhooksApp, type WebhooksApp } from './app.ts';
import { addEndpoint, createParts, deliveryOf, payloadOf, until } from './dispatcher/support.ts';

let t: WebhooksApp;
const { hook, dispatcher, end } = createParts(() => t);

beforeAll(async () => {
  t = await createWebhooksApp();
});
afterEach(end);
afterAll(() => t.close());

const eventFor = (publisherId: number) => ({
  publisherId,
  event: 'usp.selection',
  sessionId: null,
  pubUserId: null,
  dev: false,
  payload: () => payloadOf(),
  nowMs: Date.now(),
});

test('the scan finds a delivery whose process died between the commit and the notification', async () => {
  const receiver = await hook((response) => void response.end());
  const endpoint = await addEndpoint(t, receiver.url);
  await dispatcher();
  const [id = ''] = await transaction(t.pool, (executor) =>
    enqueue({ query: executor.query, onCommit: () => {} }, [eventFor(endpoint.publisherId)]),
  );
  await until(async () => (await deliveryOf(t, id)).status, 'delivered');
  expect(receiver.requests).toHaveLength(1);
});

test('a transaction that is rolled back queues nothing and sends no notification', async () => {
  const endpoint = await addEndpoint(t, 'http://127.0.0.1:9/');
  const notified: number[] = [];
  const failing = transaction(t.pool, async (executor) => {
    await enqueue(executor, [eventFor(endpoint.publisherId)]);
    executor.onCommit(() => notified.push(1));
    throw new Error('refused');
  });
  await expect(failing).rejects.toThrow('refused');
  expect(notified).toEqual([]);
  const { rows } = await t.pool.query('select 1 from deliveries where endpoint_id = $1', [endpoint.id]);
  expect(rows).toEqual([]);
});
