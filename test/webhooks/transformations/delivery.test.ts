import { createHash } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { checkTransformations } from '../../../src/alerts/checks.ts';
import type { ErasureSweep } from '../../../src/platform/user-data.ts';
import { eraseDeliveriesOfUser } from '../../../src/webhooks/deliveries/user-data.ts';
import { signInAs } from '../../dashboard/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';
import { attemptsOf, createParts, deliveryOf, payloadOf, until, untilAttempted } from '../dispatcher/support.ts';
import { addManager } from '../endpoints/manager.ts';

let t: TestApp;
const { hook, dispatcher, end } = createParts(() => t);
beforeAll(async () => {
  t = await createTestApp();
});
afterEach(end);
afterAll(() => t.close());

const slackLike = {
  body: '{ "text": body.pub_user_id & ": " & $join(body.campaigns.title, ", "), "id": $webhook_id }',
  headers: '{ "x-event": $event, "x-selected": body.selected, "x-none": null }',
};

const send = async (settings: object) => {
  const me = await addManager(t);
  const shop = await hook();
  const endpointId = await me.endpoint(shop.url, settings);
  return { me, shop, endpointId };
};

test('signs and sends the transformed body, and logs it next to the unchanged event', async () => {
  const { me, shop } = await send({ transformation: slackLike, headers: { 'x-team': 'perks', 'x-event': 'own' } });
  const { secret } = (await me.call('POST', '/webhook-endpoints/usp.selection/rotate-secret', { overlap_s: 0 })).json()
    .data as { secret: string };
  await dispatcher();
  const id = await me.enqueueDelivery({ payload: payloadOf() });
  await until(async () => (await deliveryOf(t, id)).status, 'delivered');

  const [request] = shop.requests;
  const webhookId = `msg_${id.replaceAll('-', '')}`;
  const body = { text: 'ユーザー & 1: “Offer” 7, “Offer” 3', id: webhookId };
  expect(new Webhook(secret).verify(request?.body ?? '', request?.headers ?? {})).toEqual(body);
  expect(request?.headers).toMatchObject({
    'content-type': 'application/json',
    'x-team': 'perks',
    'x-event': 'usp.selection',
    'x-selected': '1',
    'webhook-id': webhookId,
  });
  expect(request?.headers).not.toHaveProperty('x-none');
  const { data } = (await me.call('GET', `/deliveries/${id}`)).json();
  expect(data.payload).toBe(payloadOf().toString());
  expect(data.attempts[0].request).toMatchObject({
    body_bytes: request?.body.length,
    transformed_body: request?.body.toString(),
    body_sha256: createHash('sha256')
      .update(request?.body ?? '')
      .digest('hex'),
    headers: { 'x-event': '[hidden]', 'x-selected': '1' },
  });
});

test('sends text with its own content type', async () => {
  const { me, shop } = await send({
    transformation: {
      body: '"user=" & $encodeUrlComponent(body.pub_user_id)',
      headers: '{ "content-type": "application/x-www-form-urlencoded" }',
    },
  });
  await dispatcher();
  await me.enqueueDelivery({ payload: payloadOf() });
  await until(() => shop.requests.length, 1);
  expect(shop.requests[0]?.body.toString()).toBe(`user=${encodeURIComponent('ユーザー & 1')}`);
  expect(shop.requests[0]?.headers['content-type']).toBe('application/x-www-form-urlencoded');
});

test('holds a delivery whose transformation fails, shows the reason, and sends it after a fix', async () => {
  const { me, shop, endpointId } = await send({
    transformation: { body: '$number(body.pub_user_id)' },
    retry_steps_s: [0, 3600],
  });
  await dispatcher();
  const id = await me.enqueueDelivery({ payload: payloadOf() });
  await untilAttempted(t, id, 1);
  expect(await deliveryOf(t, id)).toMatchObject({ status: 'pending', attempts: 1, queued: true });
  expect(await attemptsOf(t, id)).toMatchObject([{ outcome: 'retry', error_class: 'transformation' }]);
  const state = async () => (await me.call('GET', `/webhook-endpoints/${endpointId}`)).json().data.state;
  await expect.poll(async () => (await state()).transformation_failure?.delivery_id).toBe(id);
  // The receiver is not to blame.
  expect(await state()).toMatchObject({ failures: 0, warning: null, breaker: 'closed', last_failure: null });
  expect((await state()).transformation_failure.message).toContain('body, position 8: Unable to cast value');

  await checkTransformations(t.deps);
  const user = await signInAs(t, 'admin', me.id);
  const pages = `/dashboard/p/${me.id}`;
  expect((await user.get(`${pages}/alerts`)).body).toContain('Transformation failing');
  const page = (await user.get(`${pages}/settings/webhooks/${endpointId}`)).body;
  expect(page).toContain('The transformation has been failing');
  expect(page).toContain('Unable to cast value');
  expect((await user.get(`${pages}/deliveries`)).body).toContain('transformation');

  await me.call('PATCH', `/webhook-endpoints/${endpointId}`, { transformation: { body: 'body.pub_user_id' } });
  expect((await state()).transformation_failure).toBeNull();
  await me.call('POST', `/deliveries/${id}/replay`);
  await until(async () => (await deliveryOf(t, id)).status, 'delivered');
  expect(shop.requests[0]?.body.toString()).toBe('ユーザー & 1');
  await checkTransformations(t.deps);
  const { rows } = await t.pool.query('select ended_at from alerts where publisher_id = $1', [me.id]);
  expect(rows).toEqual([{ ended_at: expect.any(Date) }]);
});

test('clears the failure when a later delivery succeeds', async () => {
  const { me, endpointId } = await send({ transformation: { body: 'body.title' } });
  await dispatcher();
  const failed = await me.enqueueDelivery({ payload: Buffer.from('{"body":{}}') });
  await untilAttempted(t, failed, 1);
  const failure = async () =>
    (await me.call('GET', `/webhook-endpoints/${endpointId}`)).json().data.state.transformation_failure;
  await expect.poll(failure).not.toBeNull();
  await me.enqueueDelivery({ payload: Buffer.from('{"body":{"title":"x"}}') });
  await expect.poll(failure).toBeNull();
});

test('rejects header values that would add other headers, and reserved names', async () => {
  for (const headers of ['{ "x-a": "1\\r\\nx-b: 2" }', '{ "webhook-id": "1" }', '{ "host": "x" }', '"text"']) {
    const { me, shop } = await send({ transformation: { headers } });
    const running = await dispatcher();
    const id = await me.enqueueDelivery({ payload: payloadOf() });
    await untilAttempted(t, id, 1);
    expect(await attemptsOf(t, id), headers).toMatchObject([{ error_class: 'transformation' }]);
    expect(shop.requests).toEqual([]);
    await running.stop();
  }
});

test('erases the transformed body together with the delivery', async () => {
  const { me } = await send({ transformation: slackLike });
  await dispatcher();
  const id = await me.enqueueDelivery({ payload: payloadOf(), pubUserId: 'erased-user' });
  await until(async () => (await deliveryOf(t, id)).status, 'delivered');
  const subject = { publisherId: me.id, namedBy: 'pub_user_id' as const, identifier: 'erased-user' };
  const nowMs = Date.now() + 1000;
  await eraseDeliveriesOfUser(t.pool, { subject, until: new Date(nowMs), nowMs } as ErasureSweep, async () => {});
  const { rows } = await t.pool.query('select request from delivery_attempts where delivery_id = $1', [id]);
  expect(rows).toEqual([{ request: null }]);
});

test('checks expressions when they are saved, and never sends a body with GET', async () => {
  const me = await addManager(t);
  const put = (settings: object) =>
    me.call('PUT', '/webhook-endpoints/usp.selection', { url: 'https://shop.example/', method: 'POST', ...settings });
  const broken = await put({ transformation: { body: '{ "a": ' } });
  expect(broken.statusCode).toBe(400);
  expect(broken.json().error.details[0]).toMatchObject({ path: '/transformation/body' });
  expect(broken.json().error.details[0].message).toContain('at position 7');
  expect((await put({ transformation: {} })).statusCode).toBe(400);
  expect((await put({ transformation: { body: 'x'.repeat(10_001) } })).statusCode).toBe(400);
  expect((await put({ transformation: { body: 'a' }, method: 'GET' })).statusCode).toBe(400);
  expect((await put({ transformation: { body: 'a' } })).statusCode).toBe(201);
  expect((await me.call('PATCH', '/webhook-endpoints/usp.selection', { method: 'GET' })).statusCode).toBe(400);
  const removed = await me.call('PATCH', '/webhook-endpoints/usp.selection', { transformation: null });
  expect(removed.json().data.transformation).toBeNull();
  const { rows } = await t.pool.query(
    "select changes -> 'transformation' as change from audit_log where publisher_id = $1 order by id desc limit 1",
    [me.id],
  );
  expect(rows).toEqual([{ change: { old: { body: 'a' }, new: null } }]);
});

test('previews a transformation with a stored delivery or a sample, but not with foreign deliveries', async () => {
  const [me, other] = [await addManager(t), await addManager(t)];
  const id = await me.endpoint('https://shop.example/');
  await other.endpoint('https://other.example/');
  const delivery = await me.enqueueDelivery({ payload: payloadOf() });
  const foreign = await other.enqueueDelivery({ payload: payloadOf() });
  const preview = (body: object) => me.call('POST', `/webhook-endpoints/${id}/transformation/preview`, body);
  expect((await preview({ transformation: slackLike, delivery_id: delivery })).json().data).toMatchObject({
    event: 'usp.selection',
    payload: payloadOf().toString(),
    headers: { 'content-type': 'application/json', 'x-event': 'usp.selection', 'x-selected': '1' },
    error: null,
  });
  const sampled = (await preview({ transformation: { body: '$event' }, event: 'conversion' })).json().data;
  expect([sampled.body, sampled.body_bytes]).toEqual(['conversion', 10]);
  expect((await preview({ transformation: { body: '$x(' } })).json().data).toMatchObject({
    body: null,
    error: { reason: 'expression', part: 'body', position: 3 },
  });
  expect((await preview({ transformation: { body: '$event' }, delivery_id: foreign })).statusCode).toBe(404);
  const foreignEndpoint = await other.call('POST', `/webhook-endpoints/${id}/transformation/preview`, {});
  expect(foreignEndpoint.statusCode).toBe(404);
  expect(
    (await me.call('POST', `/webhook-endpoints/${id}/test`, { transformation: { body: 'none' } })).json().data,
  ).toMatchObject({ delivered: false, error: { class: 'transformation' } });
});

test('the endpoint page inserts ready-made expressions and previews them', async () => {
  const me = await addManager(t);
  const id = await me.endpoint('https://shop.example/');
  const user = await signInAs(t, 'admin', me.id);
  const at = `/dashboard/p/${me.id}/settings/webhooks/${id}`;
  const form = { url: 'https://typed.example/', method: 'POST', events: 'usp.selection', template: 'Klaviyo' };
  const inserted = await user.post(`${at}/transformation/template`, form);
  expect(inserted.body).toContain('unique_id');
  expect(inserted.body).toContain('value="https://typed.example/"');
  const previewed = await user.post(`${at}/transformation/preview`, {
    ...form,
    'transformation.body': '{ "user": body.pub_user_id }',
    preview_of: 'usp.selection',
  });
  expect(previewed.statusCode).toBe(200);
  expect(previewed.body).toContain('content-type: application/json');
  const failing = await user.post(`${at}/transformation/preview`, {
    ...form,
    'transformation.body': '{',
    preview_of: 'conversion',
  });
  expect(failing.body).toContain('Body, position 1');
});
