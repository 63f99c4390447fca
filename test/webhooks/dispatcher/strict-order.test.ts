import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eraseNext } from '../../privacy/support.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { addManager } from '../endpoints/manager.ts';
import { createParts, deliveryOf, until, untilAttempted } from './support.ts';

let t: WebhooksApp;
const { hook, dispatcher, end } = createParts(() => t);

beforeAll(async () => {
  t = await createWebhooksApp();
});
afterEach(end);
afterAll(() => t.close());

const wake = () => t.pool.query('notify perkwire_outbox');

/** Creates an endpoint with strict order that rejects its first calls, and a worker. */
async function addRefusing() {
  const me = await addManager(t);
  const answers = { status: 500 };
  const receiver = await hook((response) => void response.writeHead(answers.status).end());
  const strict = { strict_order: true, retry_steps_s: [0, 3600] };
  const endpointId = await me.endpoint(receiver.url, strict);
  await dispatcher();
  return { me, receiver, answers, strict, endpointId };
}

test('later deliveries are sent once the user of the first delivery is erased', async () => {
  const { me, receiver, answers } = await addRefusing();
  const first = await me.enqueueDelivery({ pubUserId: 'first in line' });
  await untilAttempted(t, first, 1);
  const [second, third] = [await me.enqueueDelivery({ pubUserId: 'second in line' }), await me.enqueueDelivery()];
  answers.status = 200;
  await me.call('POST', '/privacy/erasure', { pub_user_id: 'second in line' });
  await eraseNext(t);
  expect(await deliveryOf(t, second)).toMatchObject({ status: 'failed', queued: false });
  await wake();
  expect(await deliveryOf(t, third)).toMatchObject({ status: 'pending', attempts: 0 });
  await me.call('POST', '/privacy/erasure', { pub_user_id: 'first in line' });
  await eraseNext(t);
  await wake();
  await until(async () => (await deliveryOf(t, third)).status, 'delivered');
  expect(receiver.requests).toHaveLength(2);
});

test('an endpoint whose strict order was turned off or on again waits for no earlier delivery', async () => {
  const { me, receiver, answers, strict, endpointId } = await addRefusing();
  await untilAttempted(t, await me.enqueueDelivery(), 1);
  answers.status = 200;
  const second = await me.enqueueDelivery();
  await me.endpoint(receiver.url, { strict_order: false });
  await wake();
  await until(async () => (await deliveryOf(t, second)).status, 'delivered');
  await t.pool.query("update endpoint_health set not_before = now() + interval '1 h' where endpoint_id = $1", [
    endpointId,
  ]);
  await me.endpoint(receiver.url, strict);
  const third = await me.enqueueDelivery();
  await wake();
  await until(async () => (await deliveryOf(t, third)).status, 'delivered');
});

test('a redelivery that fails delays no live delivery', async () => {
  const { me, answers } = await addRefusing();
  const old = await me.enqueueDelivery();
  await t.pool.query(
    "with gone as (delete from delivery_queue) update deliveries set status = 'failed' where id = $1",
    [old],
  );
  await t.pool.query('delete from delivery_attempts');
  await me.call('POST', `/deliveries/${old}/replay`);
  await untilAttempted(t, old, 1);
  answers.status = 200;
  const live = await me.enqueueDelivery();
  await until(async () => (await deliveryOf(t, live)).status, 'delivered');
  expect(await deliveryOf(t, old)).toMatchObject({ status: 'pending', attempts: 1, leased: false });
  const { rows } = await t.pool.query("select due_at > now() + interval '40 min' as waits from delivery_queue");
  expect(rows).toEqual([{ waits: true }]);
});
