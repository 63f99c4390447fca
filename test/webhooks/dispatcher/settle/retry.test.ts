import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createSecretBox } from '../../../../src/platform/security/secret-box.ts';
import { defaultSteps } from '../../../../src/webhooks/dispatcher/settle/retry-schedule.ts';
import type { Dispatcher } from '../../../../src/webhooks/dispatcher/worker.ts';
import { createWebhooksApp, type WebhooksApp } from '../../app.ts';
import { closedPort } from '../send/receivers.ts';
import {
  addEndpoint,
  attemptsOf,
  deliveryOf,
  enqueueDelivery,
  type Hook,
  makeDue,
  startHook,
  startTestDispatcher,
  until,
  untilAttempted,
} from '../support.ts';

let t: WebhooksApp;
const hooks: Hook[] = [];
let dispatcher: Dispatcher;

beforeAll(async () => {
  t = await createWebhooksApp();
  dispatcher = await startTestDispatcher(t);
});
afterEach(async () => {
  for (const hook of hooks.splice(0)) await hook.close();
});
afterAll(async () => {
  await dispatcher.stop();
  await t.close();
});

async function answering(answer: Parameters<typeof startHook>[0]): Promise<Hook> {
  const hook = await startHook(answer);
  hooks.push(hook);
  return hook;
}

const status =
  (code: number, headers: Record<string, string> = {}): Parameters<typeof startHook>[0] =>
  (response) =>
    void response.writeHead(code, headers).end();

test('the attempts follow the schedule, and the delivery fails after the last one', async () => {
  const hook = await answering(status(500));
  const id = await enqueueDelivery(t, await addEndpoint(t, hook.url));
  const waits: (number | null)[] = [];
  for (let attempts = 1; attempts <= defaultSteps.length; attempts++) {
    await untilAttempted(t, id, attempts);
    waits.push((await attemptsOf(t, id)).at(-1)?.wait_s ?? null);
    if (attempts < defaultSteps.length) {
      expect(await deliveryOf(t, id)).toEqual({
        status: 'pending',
        attempts,
        queued: true,
        leased: false,
        finished: false,
      });
      await makeDue(t, id);
    }
  }
  expect(waits).toEqual([...defaultSteps.slice(1), null]);
  expect(hook.requests).toHaveLength(defaultSteps.length);
  expect(await deliveryOf(t, id)).toEqual({
    status: 'failed',
    attempts: 10,
    queued: false,
    leased: false,
    finished: true,
  });
  expect((await attemptsOf(t, id)).at(-1)).toMatchObject({
    outcome: 'failed',
    status_code: 500,
    error_class: 'status',
  });
});

test('every attempt has the same ID and bytes but a new signature', async () => {
  const hook = await answering((response, _taken, count) => void response.writeHead(count < 3 ? 500 : 204).end());
  const endpoint = await addEndpoint(t, hook.url);
  const id = await enqueueDelivery(t, endpoint);
  for (const attempts of [1, 2, 3]) {
    await untilAttempted(t, id, attempts);
    await makeDue(t, id);
  }
  expect(await deliveryOf(t, id)).toMatchObject({ status: 'delivered', attempts: 3 });
  expect(new Set(hook.requests.map(({ headers }) => headers['webhook-id']))).toEqual(
    new Set([`msg_${id.replaceAll('-', '')}`]),
  );
  expect(new Set(hook.requests.map(({ body }) => body.toString('hex'))).size).toBe(1);
  for (const { body, headers } of hook.requests) new Webhook(endpoint.secret).verify(body, headers);
});

test("an endpoint's own schedule is used", async () => {
  const hook = await answering(status(500));
  const id = await enqueueDelivery(t, await addEndpoint(t, hook.url, { retry_steps_s: [0, 77] }));
  await untilAttempted(t, id, 1);
  expect((await attemptsOf(t, id))[0]?.wait_s).toBe(77);
  await makeDue(t, id);
  await untilAttempted(t, id, 2);
  expect(await deliveryOf(t, id)).toMatchObject({ status: 'failed', attempts: 2 });
});

describe('retry-after', () => {
  test.each([
    ['delays the retry of a 503 response by its seconds', 503, '600', 600] as const,
    ['does not shorten the wait of the schedule', 429, '1', 5] as const,
    ['is limited to one day', 502, '9999999', 86_400] as const,
    ['is ignored in a 500 response', 500, '600', 5] as const,
  ])('%s', async (_name, code, value, waitS) => {
    const hook = await answering(status(code, { 'retry-after': value }));
    const id = await enqueueDelivery(t, await addEndpoint(t, hook.url));
    await untilAttempted(t, id, 1);
    expect((await attemptsOf(t, id))[0]).toMatchObject({ outcome: 'retry', status_code: code, wait_s: waitS });
  });
});

describe('failed attempts', () => {
  test('a redirect, which is not followed', async () => {
    const elsewhere = await answering(status(200));
    const hook = await answering(status(302, { location: elsewhere.url }));
    const id = await enqueueDelivery(t, await addEndpoint(t, hook.url));
    await untilAttempted(t, id, 1);
    expect((await attemptsOf(t, id))[0]).toMatchObject({ outcome: 'retry', status_code: 302, error_class: 'redirect' });
    expect(elsewhere.requests).toEqual([]);
  });

  test('a refused connection', async () => {
    const id = await enqueueDelivery(t, await addEndpoint(t, `http://127.0.0.1:${await closedPort()}/`));
    await untilAttempted(t, id, 1);
    expect((await attemptsOf(t, id))[0]).toMatchObject({ outcome: 'retry', status_code: null, error_class: 'connect' });
  });

  test('a blocked address', async () => {
    const id = await enqueueDelivery(t, await addEndpoint(t, 'http://10.0.0.1/'));
    await untilAttempted(t, id, 1);
    const [attempt] = await attemptsOf(t, id);
    expect(attempt).toMatchObject({
      outcome: 'retry',
      error_class: 'blocked',
      error_message: 'blocked_address',
      total_ms: null,
    });
  });

  test('no response before the deadline', async () => {
    const hook = await answering(() => {});
    const id = await enqueueDelivery(t, await addEndpoint(t, hook.url, { deadline_ms: 1000 }));
    await untilAttempted(t, id, 1);
    expect((await attemptsOf(t, id))[0]).toMatchObject({ outcome: 'retry', error_class: 'timeout' });
  });

  test('a secret that was encrypted with another key uses up no attempt', async () => {
    const hook = await answering(status(200));
    const endpoint = await addEndpoint(t, hook.url);
    const foreign = createSecretBox(Buffer.alloc(32, 1)).seal('whsec_x', 'webhook-secret');
    await t.pool.query('update webhook_endpoints set secret_sealed = $1 where id = $2', [foreign, endpoint.id]);
    const id = await enqueueDelivery(t, endpoint);
    await untilAttempted(t, id, 1);
    expect((await attemptsOf(t, id))[0]).toMatchObject({ outcome: 'retry', error_class: 'local', wait_s: 1 });
    expect(await deliveryOf(t, id)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(hook.requests).toEqual([]);
  });
});

describe('410', () => {
  test('disables the endpoint, fails the delivery and holds the pending deliveries', async () => {
    const hook = await answering((response, _taken, count) => void response.writeHead(count === 1 ? 500 : 410).end());
    const endpoint = await addEndpoint(t, hook.url);
    const waiting = await enqueueDelivery(t, endpoint);
    await untilAttempted(t, waiting, 1);
    const refused = await enqueueDelivery(t, endpoint);
    await until(async () => (await deliveryOf(t, waiting)).status, 'held');
    expect(await deliveryOf(t, waiting)).toEqual({
      status: 'held',
      attempts: 1,
      queued: false,
      leased: false,
      finished: false,
    });
    expect(await deliveryOf(t, refused)).toEqual({
      status: 'failed',
      attempts: 1,
      queued: false,
      leased: false,
      finished: true,
    });
    expect((await attemptsOf(t, refused))[0]).toMatchObject({ outcome: 'endpoint_disabled', status_code: 410 });
    const { rows } = await t.pool.query('select enabled, disabled_reason from webhook_endpoints where id = $1', [
      endpoint.id,
    ]);
    expect(rows).toEqual([{ enabled: false, disabled_reason: 'gone' }]);
    expect((await deliveryOf(t, await enqueueDelivery(t, endpoint))).status).toBe('held');
  });

  test('does not disable an endpoint if the response came from its previous URL', async () => {
    let release: () => void = () => {};
    const hook = await answering((response) => {
      release = () => void response.writeHead(410).end();
    });
    const endpoint = await addEndpoint(t, hook.url);
    const id = await enqueueDelivery(t, endpoint);
    await until(() => hook.requests.length, 1);
    await t.pool.query("update webhook_endpoints set url = url || '-new' where id = $1", [endpoint.id]);
    release();
    await untilAttempted(t, id, 1);
    const { rows } = await t.pool.query('select enabled from webhook_endpoints where id = $1', [endpoint.id]);
    expect(rows).toEqual([{ enabled: true }]);
  });
});

test('a binary response is logged byte for byte', async () => {
  const hook = await answering(
    (response) => void response.writeHead(200, { 'x-odd': '\u00e9\u00ff' }).end(Buffer.from([0, 1, 255])),
  );
  const id = await enqueueDelivery(t, await addEndpoint(t, hook.url));
  await until(async () => (await deliveryOf(t, id)).status, 'delivered');
  expect((await attemptsOf(t, id))[0]?.response_body).toEqual(Buffer.from([0, 1, 255]));
});
