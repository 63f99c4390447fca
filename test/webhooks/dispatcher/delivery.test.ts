import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { userAgent } from '../../../src/platform/version.ts';
import type { Dispatcher } from '../../../src/webhooks/dispatcher/worker.ts';
import { createEndpointSecret } from '../../../src/webhooks/signature.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import {
  addEndpoint,
  attemptsOf,
  deliveryOf,
  enqueueDelivery,
  type Hook,
  linksOf,
  payloadOf,
  startHook,
  startTestDispatcher,
  until,
} from './support.ts';

let t: WebhooksApp;
let hook: Hook;
let dispatcher: Dispatcher;

beforeAll(async () => {
  t = await createWebhooksApp();
});
afterAll(() => t.close());
beforeEach(async () => {
  hook = await startHook((response) => response.setHeader('x-answer', 'yes').end('thank you'));
  dispatcher = await startTestDispatcher(t);
});
afterEach(async () => {
  await dispatcher.stop();
  await hook.close();
});

describe('POST', () => {
  test('sends a delivery once, byte for byte, with a valid Standard Webhooks signature', async () => {
    const endpoint = await addEndpoint(t, `${hook.url}?shop=1`);
    const payload = payloadOf();
    const id = await enqueueDelivery(t, endpoint, { payload });
    await until(async () => (await deliveryOf(t, id)).status, 'delivered');

    expect(hook.requests).toHaveLength(1);
    const [{ method, url, headers, body }] = hook.requests as [(typeof hook.requests)[number]];
    expect([method, url]).toEqual(['POST', '/hook?shop=1']);
    expect(body.equals(payload)).toBe(true);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': userAgent,
      'perkwire-event': 'usp.selection',
      'webhook-id': `msg_${id.replaceAll('-', '')}`,
    });
    expect(headers['perkwire-dev']).toBeUndefined();
    expect(headers['perkwire-test']).toBeUndefined();
    expect(new Webhook(endpoint.secret).verify(body, headers)).toEqual(JSON.parse(payload.toString()));
  });

  test('logs the attempt with its response', async () => {
    const id = await enqueueDelivery(t, await addEndpoint(t, hook.url));
    await until(async () => (await deliveryOf(t, id)).status, 'delivered');
    expect(await deliveryOf(t, id)).toEqual({
      status: 'delivered',
      attempts: 1,
      queued: false,
      leased: false,
      finished: true,
    });
    const [attempt, ...more] = await attemptsOf(t, id);
    expect(more).toEqual([]);
    expect(attempt).toMatchObject({
      generation: 1,
      outcome: 'delivered',
      status_code: 200,
      error_class: null,
      error_message: null,
    });
    expect(attempt).toMatchObject({ remote_address: '127.0.0.1', wait_s: null });
    expect(attempt?.response_headers).toMatchObject({ 'x-answer': 'yes' });
    expect(attempt?.response_body?.toString()).toBe('thank you');
    expect(attempt?.total_ms).toBeGreaterThanOrEqual(0);
  });

  test('marks a delivery of a dev session', async () => {
    await enqueueDelivery(t, await addEndpoint(t, hook.url), { dev: true });
    await until(() => hook.requests[0]?.headers['perkwire-dev'], '1');
  });

  test('signs with both secrets during a rotation, and with only the new one afterwards', async () => {
    const endpoint = await addEndpoint(t, hook.url);
    const next = createEndpointSecret(t.deps.secretBox);
    await t.pool.query(
      `update webhook_endpoints set previous_secret_sealed = secret_sealed, secret_sealed = $2,
        previous_secret_until = now() + interval '1 day'
      where id = $1`,
      [endpoint.id, next.sealed],
    );
    await enqueueDelivery(t, endpoint);
    await until(() => hook.requests.length, 1);
    await t.pool.query('update webhook_endpoints set previous_secret_until = now() where id = $1', [endpoint.id]);
    await enqueueDelivery(t, endpoint);
    await until(() => hook.requests.length, 2);

    const [during, after] = hook.requests as [(typeof hook.requests)[number], (typeof hook.requests)[number]];
    for (const secret of [endpoint.secret, next.secret]) new Webhook(secret).verify(during.body, during.headers);
    new Webhook(next.secret).verify(after.body, after.headers);
    expect(() => new Webhook(endpoint.secret).verify(after.body, after.headers)).toThrow();
  });

  test('sends 500 deliveries to five endpoints from two workers exactly once each', async () => {
    const second = await startTestDispatcher(t);
    const endpoints = await Promise.all(Array.from({ length: 5 }, () => addEndpoint(t, hook.url)));
    const ids: string[] = [];
    for (let round = 0; round < 100; round++)
      ids.push(...(await Promise.all(endpoints.map((endpoint) => enqueueDelivery(t, endpoint)))));
    const count = async () =>
      (
        await t.pool.query("select count(*)::int as n from deliveries where id = any($1) and status = 'delivered'", [
          ids,
        ])
      ).rows[0].n;
    await until(count, 500);
    expect(new Set(hook.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(500);
    expect(hook.requests).toHaveLength(500);
    await second.stop();
  });
});

describe('GET', () => {
  test('sends the summary and the signed payload in the query, after the existing query of the URL', async () => {
    const endpoint = await addEndpoint(t, `${hook.url}?a=b%20c&a=2`, { method: 'GET' });
    const payload = payloadOf([7, 3]);
    await enqueueDelivery(t, endpoint, { payload });
    await until(() => hook.requests.length, 1);
    const [{ method, url, headers, body }] = hook.requests as [(typeof hook.requests)[number]];
    expect(method).toBe('GET');
    expect(url.startsWith('/hook?a=b%20c&a=2&pub_user_id=')).toBe(true);
    expect(body).toHaveLength(0);
    expect(headers['content-type']).toBeUndefined();
    const query = new URL(url, hook.url).searchParams;
    expect(query.get('pub_user_id')).toBe('ユーザー & 1');
    expect(query.get('selected')).toBe('1');
    expect(query.get('session_id')).toBe('0197a000-0000-7000-8000-000000000001');
    expect(query.get('campaign_ids')).toBe('7,3');
    expect(query.get('payload')).toBe(payload.toString());
    new Webhook(endpoint.secret).verify(query.get('payload') as string, headers);
  });

  test('links to a payload that is too long for a URL, and the signature covers it', async () => {
    const endpoint = await addEndpoint(t, hook.url, { method: 'GET' });
    const payload = payloadOf([1, 2], 'x'.repeat(5000));
    const id = await enqueueDelivery(t, endpoint, { payload });
    await until(() => hook.requests.length, 1);
    const [{ url, headers }] = hook.requests as [(typeof hook.requests)[number]];
    const query = new URL(url, hook.url).searchParams;
    expect(query.has('payload')).toBe(false);
    const link = new URL(query.get('payload_url') as string);
    expect(link.origin).toBe(t.deps.config.publicUrl);
    const token = link.searchParams.get('t') as string;
    const hourMs = 3_600_000;
    expect(linksOf(t).read(token, Date.now() + 71 * hourMs)).toEqual({ deliveryId: id });
    expect(linksOf(t).read(token, Date.now() + 73 * hourMs)).toBeNull();
    const fetched = await t.app.inject({ url: link.pathname + link.search });
    expect(fetched.rawPayload.equals(payload)).toBe(true);
    new Webhook(endpoint.secret).verify(fetched.rawPayload, headers);
  });
});
