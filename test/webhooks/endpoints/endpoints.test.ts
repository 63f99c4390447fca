import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { transaction } from '../../../src/platform/db/pool.ts';
import { hashKey } from '../../../src/platform/http/auth.ts';
import { enqueue } from '../../../src/webhooks/outbox.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { closedPort } from '../dispatcher/send/receivers.ts';
import { type Hook, startHook } from '../dispatcher/support.ts';

const path = '/manage/v1/webhook-endpoints/usp.selection';

let t: WebhooksApp;
let nowMs = Date.now();
let hook: Hook;
let key: string;
let publisherId: number;

beforeAll(async () => {
  t = await createWebhooksApp({ now: () => nowMs });
});
afterAll(() => t.close());
beforeEach(async () => {
  hook = await startHook((response) => response.setHeader('x-answer', 'yes').end('x'.repeat(5000)));
  publisherId = await addPublisher();
  key = await addKey(publisherId, ['configurations']);
});
afterEach(() => hook.close());

async function addPublisher(): Promise<number> {
  const { rows } = await t.pool.query<{ id: number }>(
    "insert into publishers (name, sdk_id) values ('Test', $1) returning id",
    [randomBytes(8).toString('hex')],
  );
  return rows[0]?.id as number;
}

async function addKey(owner: number, permissions: string[]): Promise<string> {
  const newKey = randomBytes(12).toString('hex');
  await t.pool.query(
    "insert into api_keys (publisher_id, name, key_hash, permissions) values ($1, 'test', decode($2, 'hex'), $3)",
    [owner, hashKey(newKey), permissions],
  );
  await t.deps.catalog.refresh();
  return newKey;
}

const call = (method: 'GET' | 'PUT' | 'POST', url: string, payload?: object, withKey = key) =>
  t.app.inject({ method, url, headers: { authorization: `Bearer ${withKey}` }, ...(payload && { payload }) });

const settings = () => ({ url: hook.url, method: 'POST', enabled: true });

describe('PUT', () => {
  test('201: the first call creates the endpoint and shows its secret once', async () => {
    const answer = await call('PUT', path, { url: hook.url, method: 'GET' });
    expect(answer.statusCode).toBe(201);
    const { message, data } = answer.json();
    expect(message).toEqual(expect.any(String));
    expect(data).toEqual({
      id: expect.any(Number),
      event: 'usp.selection',
      events: ['usp.selection'],
      description: '',
      filter: null,
      destination: { kind: 'http' },
      url: hook.url,
      method: 'GET',
      enabled: true,
      disabled_reason: null,
      paused_at: null,
      resume_rate_per_s: null,
      headers: {},
      deadline_ms: 15_000,
      retry_steps_s: [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400],
      max_in_flight: 4,
      rate_limit_per_s: null,
      strict_order: false,
      signature_v1a: false,
      transformation: null,
      v1a_public_key: null,
      previous_secret_until: null,
      created_at: new Date(nowMs).toISOString(),
      updated_at: new Date(nowMs).toISOString(),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    const { rows } = await t.pool.query('select secret_sealed from webhook_endpoints where publisher_id = $1', [
      publisherId,
    ]);
    expect(rows[0].secret_sealed.toString('latin1')).not.toContain(data.secret);
    const response = await call('GET', path);
    expect(response.statusCode).toBe(200);
    const { secret: _shownOnce, ...rest } = data;
    const { state, ...settled } = response.json().data;
    expect(settled).toEqual(rest);
    expect(state).toEqual({
      status: 'active',
      breaker: 'closed',
      breaker_open_until: null,
      warning: null,
      failing_since: null,
      failures: 0,
      last_success_at: null,
      last_failure: null,
      transformation_failure: null,
      pending: 0,
      held: 0,
    });
  });

  test('200: a later call changes the endpoint and keeps its secret', async () => {
    const { secret } = (await call('PUT', path, settings())).json().data;
    nowMs += 1000;
    const answer = await call('PUT', path, { url: `${hook.url}/2`, method: 'POST' });
    expect(answer.statusCode).toBe(200);
    expect(answer.json().data).toMatchObject({ url: `${hook.url}/2`, updated_at: new Date(nowMs).toISOString() });
    expect(answer.json().data.secret).toBeUndefined();
    await call('POST', `${path}/test`);
    const [{ body, headers }] = hook.requests as [(typeof hook.requests)[number]];
    new Webhook(secret).verify(body, headers);
  });

  test('two concurrent first calls show one secret', async () => {
    const answers = await Promise.all([call('PUT', path, settings()), call('PUT', path, settings())]);
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 201]);
    expect(answers.filter((answer) => answer.json().data.secret !== undefined)).toHaveLength(1);
  });

  test('enabling a disabled endpoint clears the reason, while held deliveries stay held', async () => {
    await call('PUT', path, settings());
    const event = {
      publisherId,
      event: 'usp.selection',
      sessionId: null,
      pubUserId: null,
      dev: false,
      payload: () => Buffer.from('{}'),
      nowMs,
    };
    const [id] = await transaction(t.pool, (executor) => enqueue(executor, [event]));
    await call('PUT', path, { ...settings(), enabled: false });
    const fate = async () =>
      (
        await t.pool.query(
          `select status, q.day is not null as queued
          from deliveries d left join delivery_queue q on q.delivery_id = d.id where d.id = $1`,
          [id],
        )
      ).rows[0];
    expect(await fate()).toEqual({ status: 'held', queued: false });
    await t.pool.query("update webhook_endpoints set disabled_reason = 'gone' where publisher_id = $1", [publisherId]);
    expect((await call('PUT', path, { ...settings(), enabled: false })).json().data).toMatchObject({
      enabled: false,
      disabled_reason: 'gone',
    });
    expect((await call('PUT', path, settings())).json().data).toMatchObject({ enabled: true, disabled_reason: null });
    expect(await fate()).toEqual({ status: 'held', queued: false });
  });

  test.each([
    ['a URL without a scheme', 'shop.example/hook'],
    ['an unsupported scheme', 'ftp://shop.example/hook'],
    ['a user name and password in the URL', 'https://user:secret@shop.example/hook'],
    ['a private address', 'https://10.1.2.3/hook'],
    ['a private address in hexadecimal notation', 'https://0x0a010203/hook'],
    ['a link-local address', 'https://[fe80::1]/hook'],
    ['the cloud metadata address', 'https://169.254.169.254/latest/meta-data'],
    ['a mail port', 'https://shop.example:25/hook'],
    ['a leading space', ' https://shop.example/hook'],
    ['a URL over 2,000 characters', `https://shop.example/${'x'.repeat(2000)}`],
  ])('400: %s', async (_name, url) => {
    const answer = await call('PUT', path, { ...settings(), url });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error).toMatchObject({
      code: 'invalid_endpoint',
      details: [{ path: '/url', message: expect.any(String) }],
    });
    expect((await call('GET', path)).statusCode).toBe(404);
  });

  test('400: plain HTTP, unless the operator allows it', async () => {
    const strict = await createWebhooksApp({
      databaseUrl: t.databaseUrl,
      config: { webhookAllowHttp: false },
    });
    const answer = await strict.app.inject({ method: 'PUT', url: `${path}?api_key=${key}`, payload: settings() });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.code).toBe('invalid_endpoint');
    await strict.close();
  });

  test('400: a local network name, unless the operator has opened matching nets', async () => {
    const closed = await createWebhooksApp({
      databaseUrl: t.databaseUrl,
      config: { webhookAllowNets: [] },
    });
    for (const host of ['localhost', 'db', 'shop.local', 'a.localhost', 'metadata.google.internal', 'localhost.']) {
      const payload = { ...settings(), url: `https://${host}/hook` };
      const answer = await closed.app.inject({ method: 'PUT', url: `${path}?api_key=${key}`, payload });
      expect(answer.json().error, host).toMatchObject({ code: 'invalid_endpoint', details: [{ path: '/url' }] });
    }
    await closed.close();
    expect((await call('PUT', path, { ...settings(), url: 'https://localhost/hook' })).statusCode).toBe(201);
  });

  test.each([
    ['a missing method', { url: 'https://shop.example/' }],
    ['an unknown method', { url: 'https://shop.example/', method: 'DELETE' }],
    ['a missing URL', { method: 'POST' }],
  ])('400: %s', async (_name, payload) => {
    expect((await call('PUT', path, payload)).json().error.code).toBe('invalid_request');
  });

  test('400: no body', async () => {
    expect((await call('PUT', path)).statusCode).toBe(400);
  });
});

describe('permissions', () => {
  const routes = [
    ['PUT', path],
    ['GET', path],
    ['POST', `${path}/test`],
  ] as const;

  test.each(routes)('401 without a key: %s %s', async (method, url) => {
    expect((await t.app.inject({ method, url })).statusCode).toBe(401);
  });

  test.each(routes)('403 with an SDK ID or a key without the permission: %s %s', async (method, url) => {
    const other = await addKey(publisherId, ['ads/offers', 'reports', 'offers/management', 'wallet']);
    for (const wrong of [other, t.publisher.sdkId])
      expect((await call(method, url, settings(), wrong)).statusCode).toBe(403);
  });

  test("404: another publisher's endpoint is not found", async () => {
    await call('PUT', path, settings());
    const foreign = await addKey(await addPublisher(), ['configurations']);
    const [fetched, tested] = [
      await call('GET', path, undefined, foreign),
      await call('POST', `${path}/test`, undefined, foreign),
    ];
    for (const answer of [fetched, tested]) {
      expect(answer.statusCode).toBe(404);
      expect(answer.json().error.code).toBe('endpoint_not_found');
    }
    expect((await call('PUT', path, { ...settings(), url: 'https://other.example/' }, foreign)).statusCode).toBe(201);
    expect((await call('GET', path)).json().data.url).toBe(hook.url);
  });

  test.each(routes)('404 for an unknown event: %s %s', async (method, url) => {
    expect((await call(method, url.replace('usp.selection', 'usp.nothing'), settings())).statusCode).toBe(404);
  });
});

describe('Test Endpoint', () => {
  test('sends a sample payload like a delivery and shows the response', async () => {
    const { secret } = (await call('PUT', path, settings())).json().data;
    const answer = await call('POST', `${path}/test`);
    expect(answer.statusCode).toBe(200);
    expect(answer.json().data).toEqual({
      delivered: true,
      status: 200,
      error: null,
      timing: {
        dns_ms: expect.any(Number),
        connect_ms: expect.any(Number),
        tls_ms: null,
        first_byte_ms: expect.any(Number),
        total_ms: expect.any(Number),
      },
      headers: expect.objectContaining({ 'x-answer': 'yes' }),
      body: 'x'.repeat(4096),
    });
    expect(hook.requests).toHaveLength(1);
    const [{ body, headers }] = hook.requests as [(typeof hook.requests)[number]];
    expect(headers).toMatchObject({
      'perkwire-test': '1',
      'perkwire-event': 'usp.selection',
      'webhook-id': expect.stringMatching(/^msg_[0-9a-f]{32}$/),
    });
    const payload = new Webhook(secret).verify(body, {
      ...headers,
      'webhook-timestamp': headers['webhook-timestamp'] as string,
    }) as {
      body: { selected: number; campaigns: object[] };
    };
    expect(payload.body).toMatchObject({ pub_user_id: 'test-user', selected: 1, session_id: expect.any(String) });
    const fields =
      'campaign_id advertiser_name title short_headline short_description offer_description description ' +
      'terms_and_conditions click_url cta_yes cta_no mini_text image pixel adv_pixel_url save_for_later_url ' +
      'is_loyalty loyalty_requirements offerwall_enabled wallet_enabled tags beacons creatives ' +
      'useraction_cta useraction_url campaign';
    expect(Object.keys(payload.body.campaigns[0] ?? {})).toEqual(expect.arrayContaining(fields.split(' ')));
    expect((await t.pool.query('select 1 from deliveries where publisher_id = $1', [publisherId])).rows).toEqual([]);
    expect((await t.pool.query('select 1 from delivery_attempts where publisher_id = $1', [publisherId])).rows).toEqual(
      [],
    );
  });

  test('tests settings before they are saved', async () => {
    const answer = await call('POST', `${path}/test`, { url: `${hook.url}?a=1`, method: 'GET' });
    expect(answer.json().data).toMatchObject({ delivered: true, status: 200 });
    const [{ method, url }] = hook.requests as [(typeof hook.requests)[number]];
    expect(method).toBe('GET');
    const query = new URL(url, hook.url).searchParams;
    expect([query.get('a'), query.get('pub_user_id'), query.get('campaign_ids')]).toEqual(['1', 'test-user', '1']);
    expect(JSON.parse(query.get('payload') as string).body.campaigns).toHaveLength(1);
    expect((await call('GET', path)).statusCode).toBe(404);
  });

  test('fits the sample payload into the URL of a GET endpoint of maximum length', async () => {
    const url = `${hook.url}?x=${'y'.repeat(2000 - hook.url.length - 3)}`;
    await call('POST', `${path}/test`, { url, method: 'GET' });
    expect(hook.requests[0]?.url.length).toBeLessThan(8000);
  });

  test('does not disable the endpoint after a 410', async () => {
    const gone = await startHook((response) => void response.writeHead(410).end());
    await call('PUT', path, { ...settings(), url: gone.url });
    const { data } = (await call('POST', `${path}/test`)).json();
    expect(data).toMatchObject({
      delivered: false,
      status: 410,
      error: { class: 'status', message: expect.any(String) },
    });
    expect((await call('GET', path)).json().data.enabled).toBe(true);
    await gone.close();
  });

  test('200: a failed call is a result and not an error', async () => {
    const answer = await call('POST', `${path}/test`, { url: `http://127.0.0.1:${await closedPort()}/` });
    expect(answer.statusCode).toBe(200);
    expect(answer.json().data).toMatchObject({
      delivered: false,
      status: null,
      error: { class: 'connect' },
      headers: null,
      body: null,
    });
  });

  test('400: a blocked address', async () => {
    const answer = await call('POST', `${path}/test`, { url: 'http://192.168.0.1/' });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.code).toBe('invalid_endpoint');
  });

  test('404: no URL is saved or given', async () => {
    expect((await call('POST', `${path}/test`)).json().error.code).toBe('endpoint_not_found');
  });

  test('429: the eleventh test of a publisher within a minute in any process', async () => {
    const tested = async () => (await call('POST', `${path}/test`, { url: hook.url })).statusCode;
    const statuses: number[] = [];
    for (let count = 0; count < 10; count++) statuses.push(await tested());
    expect(statuses).toEqual(Array(10).fill(200));
    const refused = await call('POST', `${path}/test`, { url: hook.url });
    expect(refused.statusCode).toBe(429);
    expect(refused.headers['retry-after']).toBe('6');
    expect(hook.requests).toHaveLength(10);
    const elsewhere = await createWebhooksApp({ databaseUrl: t.databaseUrl, now: () => nowMs });
    const there = {
      method: 'POST',
      url: `${path}/test`,
      headers: { authorization: `Bearer ${key}` },
      payload: { url: hook.url },
    } as const;
    expect((await elsewhere.app.inject(there)).statusCode).toBe(429);
    await elsewhere.close();
    nowMs += 6000;
    expect(await tested()).toBe(200);
  });
});
