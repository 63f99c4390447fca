import { createPublicKey, randomBytes, verify } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { transaction } from '../../../src/platform/db/pool.ts';
import { hashKey } from '../../../src/platform/http/auth.ts';
import { checkFailingEndpoints } from '../../../src/webhooks/dispatcher/settle/failing-endpoints.ts';
import { enqueue } from '../../../src/webhooks/outbox.ts';
import { openHeaders } from '../../../src/webhooks/signature.ts';
import { eventTypes } from '../../support/event-types.ts';
import { createWebhooksApp, type WebhooksApp } from '../app.ts';
import { type Hook, startHook } from '../dispatcher/support.ts';

const base = '/manage/v1/webhook-endpoints';
const path = `${base}/usp.selection`;

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
  hook = await startHook();
  [publisherId, key] = await addPublisher();
});
afterEach(() => hook.close());

async function addPublisher(): Promise<[number, string]> {
  const text = randomBytes(8).toString('hex');
  const { rows } = await t.pool.query<{ id: number }>(
    "insert into publishers (name, sdk_id) values ('Test', $1) returning id",
    [text],
  );
  const id = rows[0]?.id as number;
  await t.pool.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions)
    values ($1, 'test', decode($2, 'hex'), '{configurations}')`,
    [id, hashKey(text)],
  );
  await t.deps.catalog.refresh();
  return [id, text];
}

const call = (method: 'GET' | 'PUT' | 'POST' | 'DELETE', url: string, payload?: object, withKey = key) =>
  t.app.inject({ method, url, headers: { authorization: `Bearer ${withKey}` }, ...(payload && { payload }) });

const put = (settings: object = {}, url = path) => call('PUT', url, { url: hook.url, method: 'POST', ...settings });
const act = (name: string, payload?: object) => call('POST', `${path}/${name}`, payload);
const stateOf = async () => (await call('GET', path)).json().data.state;

async function enqueueDelivery(owner = publisherId): Promise<string | undefined> {
  const payload = () => Buffer.from('{"body":{}}');
  const event = {
    publisherId: owner,
    event: 'usp.selection',
    sessionId: null,
    pubUserId: null,
    dev: false,
    payload,
    nowMs,
  };
  return (await transaction(t.pool, (executor) => enqueue(executor, [event])))[0];
}

describe('endpoint settings', () => {
  test('are separate for each event, and appear in the list', async () => {
    for (const event of eventTypes.keys()) expect((await put({}, `${base}/${event}`)).statusCode).toBe(201);
    const listed = (await call('GET', base)).json().data;
    expect(
      listed.map(({ event, state }: { event: string; state: { status: string } }) => [event, state.status]),
    ).toEqual([...eventTypes.keys()].map((event) => [event, 'active']));
    expect(listed[0].secret).toBeUndefined();
    const [, foreign] = await addPublisher();
    expect((await call('GET', base, undefined, foreign)).json().data).toEqual([]);
  });

  test('stay unchanged if omitted, and return to the default if null', async () => {
    const settings = {
      headers: { 'X-Shop': 'one', Authorization: 'Bearer t' },
      deadline_ms: 2000,
      retry_steps_s: [0, 1, 2],
      max_in_flight: 1,
      rate_limit_per_s: 2.5,
      strict_order: true,
      signature_v1a: true,
    };
    const endpoint = (await put(settings)).json().data;
    expect(endpoint).toMatchObject({ ...settings, headers: { 'x-shop': null, authorization: null } });
    expect(endpoint.v1a_public_key).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
    expect((await put()).json().data).toMatchObject({
      ...settings,
      headers: { 'x-shop': null },
      v1a_public_key: endpoint.v1a_public_key,
    });
    const reset = (await put({ retry_steps_s: null, rate_limit_per_s: null, headers: { 'x-shop': null } })).json().data;
    expect(reset).toMatchObject({ rate_limit_per_s: null, headers: { 'x-shop': null }, deadline_ms: 2000 });
    expect(reset.retry_steps_s).toHaveLength(10);
    const { rows } = await t.pool.query('select headers from webhook_endpoints where publisher_id = $1', [publisherId]);
    expect(Object.keys(rows[0].headers)).toEqual(['x-shop']);
    expect(openHeaders(t.deps.secretBox, rows[0].headers)).toEqual({ 'x-shop': 'one' });
  });

  test('encrypt header values in the database and send them unchanged', async () => {
    await put({ headers: { authorization: 'Bearer s3cr3t' } });
    const { rows } = await t.pool.query('select headers::text from webhook_endpoints where publisher_id = $1', [
      publisherId,
    ]);
    expect(rows[0].headers).toContain('authorization');
    expect(rows[0].headers).not.toContain('s3cr3t');
    await act('test');
    expect(hook.requests[0]?.headers.authorization).toBe('Bearer s3cr3t');
  });

  test.each([
    ['a deadline below one second', { deadline_ms: 999 }],
    ['a deadline above 30 seconds', { deadline_ms: 30_001 }],
    ['21 attempts', { retry_steps_s: Array(21).fill(0) }],
    ['no attempts', { retry_steps_s: [] }],
    ['a wait before the first attempt', { retry_steps_s: [5, 5] }],
    ['a schedule longer than 7 days', { retry_steps_s: [0, 7 * 86_400, 1] }],
    ['a wait that is not in whole seconds', { retry_steps_s: [0, 1.5] }],
    ['an excessive wait', { retry_steps_s: [0, 2 ** 40] }],
    ['a concurrency limit of 0', { max_in_flight: 0 }],
    ['a rate limit of 0', { rate_limit_per_s: 0 }],
    ['a string instead of a boolean', { strict_order: 'yes' }],
    ['a Host header', { headers: { Host: 'evil.example' } }],
    ['a transport header', { headers: { 'transfer-encoding': 'chunked' } }],
    ['a signature header', { headers: { 'Webhook-Signature': 'v1,x' } }],
    ['a reserved Perkwire header', { headers: { 'perkwire-test': '1' } }],
    ['a header with a line break', { headers: { 'x-a': 'b\r\nhost: evil.example' } }],
    ['a NUL character in a header', { headers: { 'x-a': 'b\0' } }],
    ['an invalid header name', { headers: { 'x a': 'b' } }],
    ['a non-ASCII header value', { headers: { 'x-a': 'ü' } }],
    ['a duplicate header', { headers: { 'x-a': 'b', 'X-A': 'c' } }],
    ['null for a header that is not stored', { headers: { 'x-a': null } }],
    ['null for a header named like a built-in object property', { headers: { constructor: null } }],
    ['21 headers', { headers: Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`x-${index}`, 'a'])) }],
    ['a macro in the host', { url: 'https://{host}.example/' }],
    ['51 macros', { url: `https://shop.example/?${'x={a}&'.repeat(51)}` }],
    ['a NUL character in the URL', { url: 'https://shop.example/\0' }],
  ])('400: rejects %s and stores nothing', async (_name, settings) => {
    const answer = await put(settings);
    expect(answer.statusCode, answer.body).toBe(400);
    expect((await call('GET', path)).statusCode).toBe(404);
  });
});

describe('pause and resume', () => {
  test('keep deliveries queued during a pause, and can resume at a limited rate', async () => {
    await put();
    expect((await act('pause')).json().data).toMatchObject({ enabled: true, paused_at: new Date(nowMs).toISOString() });
    const pausedAt = new Date(nowMs).toISOString();
    nowMs += 1000;
    expect((await act('pause')).json().data.paused_at).toBe(pausedAt);
    await enqueueDelivery();
    expect(await stateOf()).toMatchObject({ status: 'paused', pending: 1, held: 0 });
    expect((await act('resume', { rate_per_s: 5 })).json().data).toMatchObject({
      paused_at: null,
      resume_rate_per_s: 5,
    });
    expect((await act('resume')).json().data.resume_rate_per_s).toBeNull();
    expect((await act('resume', { rate_per_s: 0 })).statusCode).toBe(400);
  });

  test('do not count a pause as a failure or as failing time', async () => {
    await put();
    const set = (assignment: string) =>
      t.pool.query(
        `update endpoint_health h set ${assignment} from webhook_endpoints e
        where e.id = h.endpoint_id and e.publisher_id = $1`,
        [publisherId],
      );
    const state = async () => {
      const { rows } = await t.pool.query(
        `select enabled, first_failure_at < now() - interval '1 day' as fails_long, warned_at is not null as warned
        from webhook_endpoints e join endpoint_health h on h.endpoint_id = e.id where publisher_id = $1`,
        [publisherId],
      );
      return rows;
    };
    await set("failures = 40, first_failure_at = now() - interval '6 days'");
    await act('pause');
    await checkFailingEndpoints(t.pool);
    expect(await state()).toEqual([{ enabled: true, fails_long: true, warned: false }]);
    await act('resume');
    await checkFailingEndpoints(t.pool);
    expect(await state()).toEqual([{ enabled: true, fails_long: false, warned: false }]);
    await set("first_failure_at = now() - interval '6 days'");
    await act('resume');
    await checkFailingEndpoints(t.pool);
    expect(await state()).toEqual([{ enabled: false, fails_long: true, warned: false }]);
  });

  test('saving an endpoint does not end its pause', async () => {
    await put();
    await act('pause');
    expect((await put({ deadline_ms: 5000 })).json().data.paused_at).not.toBeNull();
  });
});

describe('enable and disable', () => {
  test('hold pending and new deliveries while disabled, and clear the reason when enabled', async () => {
    await put();
    await enqueueDelivery();
    expect((await act('disable')).json().data.enabled).toBe(false);
    await enqueueDelivery();
    expect(await stateOf()).toMatchObject({ status: 'disabled', pending: 0, held: 2 });
    await t.pool.query("update webhook_endpoints set disabled_reason = 'gone' where publisher_id = $1", [publisherId]);
    expect((await act('enable')).json().data).toMatchObject({ enabled: true, disabled_reason: null });
    expect(await stateOf()).toMatchObject({ status: 'active', pending: 0, held: 2 });
  });
});

describe('rotate-secret', () => {
  const signedWith = async (): Promise<(secret: string) => boolean> => {
    await call('POST', `${path}/test`);
    const { body, headers } = hook.requests.at(-1) as Hook['requests'][number];
    return (secret) => {
      try {
        new Webhook(secret).verify(body, headers);
        return true;
      } catch {
        return false;
      }
    };
  };

  test('shows the new secret once, while the old one also signs for a day or the given time', async () => {
    const first = (await put()).json().data.secret;
    const rotated = (await act('rotate-secret')).json().data;
    expect(rotated.secret).toMatch(/^whsec_/);
    expect(rotated.secret).not.toBe(first);
    expect(Date.parse(rotated.previous_secret_until) - Date.now()).toBeGreaterThan(86_000_000);
    expect((await call('GET', path)).json().data.secret).toBeUndefined();
    const during = await signedWith();
    expect([during(first), during(rotated.secret)]).toEqual([true, true]);
    const second = (await act('rotate-secret', { overlap_s: 0 })).json().data;
    expect(second.previous_secret_until).toBeNull();
    const later = await signedWith();
    expect([later(first), later(rotated.secret), later(second.secret)]).toEqual([false, false, true]);
  });

  test('400: the overlap is below 0 or over 7 days', async () => {
    await put();
    for (const overlap_s of [-1, 7 * 86_400 + 1, 1.5, '1'])
      expect((await act('rotate-secret', { overlap_s })).statusCode).toBe(400);
  });
});

describe('DELETE', () => {
  test('holds pending deliveries, stops new ones, and gives a recreated endpoint another secret', async () => {
    const first = (await put({ deadline_ms: 3000, headers: { 'x-a': 'b' } })).json().data;
    await enqueueDelivery();
    const removed = await call('DELETE', path);
    expect([removed.statusCode, removed.json().data]).toEqual([
      200,
      { id: first.id, event: 'usp.selection', removed: true },
    ]);
    expect((await call('GET', path)).statusCode).toBe(404);
    expect((await call('GET', base)).json().data).toEqual([]);
    expect(await enqueueDelivery()).toBeUndefined();
    for (const name of ['pause', 'resume', 'enable', 'disable', 'rotate-secret'])
      expect((await act(name)).statusCode).toBe(404);
    expect((await call('DELETE', path)).statusCode).toBe(404);
    const again = await put();
    expect(again.statusCode).toBe(201);
    expect(again.json().data).toMatchObject({ enabled: true, deadline_ms: 15_000, headers: {} });
    expect(again.json().data.secret).not.toBe(first.secret);
    expect(await stateOf()).toMatchObject({ pending: 0, held: 1 });
  });

  test('only one of two concurrent calls that recreate an endpoint shows the valid secret', async () => {
    await put();
    await call('DELETE', path);
    const answers = await Promise.all([put(), put(), put(), put()]);
    const secrets = answers.map((answer) => answer.json().data.secret).filter((secret) => secret !== undefined);
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 200, 201]);
    expect(secrets).toHaveLength(1);
    await act('test');
    const { body, headers } = hook.requests.at(-1) as Hook['requests'][number];
    new Webhook(secrets[0]).verify(body, headers);
  });

  test("404: another publisher's endpoint cannot be removed or changed", async () => {
    await put();
    const [, foreign] = await addPublisher();
    expect((await call('DELETE', path, undefined, foreign)).statusCode).toBe(404);
    for (const name of ['pause', 'resume', 'enable', 'disable', 'rotate-secret'])
      expect((await call('POST', `${path}/${name}`, undefined, foreign)).statusCode).toBe(404);
    expect(await stateOf()).toMatchObject({ status: 'active' });
  });
});

describe('Test Endpoint', () => {
  test('sends the sample payload of each event, by POST and by GET', async () => {
    for (const { name: event, isOperational } of eventTypes.values()) {
      if (isOperational) continue; // a publisher has ten tests a minute
      const settings = { url: `${hook.url}?shop=1`, method: 'POST' };
      expect((await call('POST', `${base}/${event}/test`, settings)).json().data).toMatchObject({
        delivered: true,
        status: 200,
      });
      const posted = JSON.parse((hook.requests.at(-1) as Hook['requests'][number]).body.toString());
      expect(hook.requests.at(-1)?.headers).toMatchObject({ 'perkwire-event': event, 'perkwire-test': '1' });
      const expected = event === 'usp.selection' ? posted.body : posted;
      expect(expected.pub_user_id).toBe('test-user');
      if (event.startsWith('offer_')) expect(posted.event).toBe(event);
      await call('POST', `${base}/${event}/test`, { ...settings, method: 'GET' });
      const query = new URL(hook.requests.at(-1)?.url ?? '', hook.url).searchParams;
      expect([query.get('shop'), query.get('pub_user_id')]).toEqual(['1', 'test-user']);
      expect(Object.keys(JSON.parse(query.get('payload') as string))).toEqual(Object.keys(posted));
    }
  });

  test('fills the macros of a postback', async () => {
    await call('POST', `${base}/conversion/test`, {
      url: `${hook.url}/{offer_id}?p={payout}&s={subid}&u={unknown}`,
      method: 'GET',
    });
    expect(hook.requests.at(-1)?.url).toBe('/hook/1?p=1.5&s=test&u=');
  });

  test('is signed like a delivery, with an additional ed25519 signature if enabled', async () => {
    const { v1a_public_key: publicKey } = (await put({ signature_v1a: true })).json().data;
    await act('test');
    const { headers, body } = hook.requests.at(-1) as Hook['requests'][number];
    const signature = /v1a,(\S+)/.exec(headers['webhook-signature'] ?? '')?.[1] ?? '';
    const x = Buffer.from(publicKey.slice('whpk_'.length), 'base64').toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    const signed = Buffer.concat([Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`), body]);
    expect(verify(null, signed, key, Buffer.from(signature, 'base64'))).toBe(true);
  });

  test('sends the headers of the endpoint only to its saved server', async () => {
    await put({ headers: { authorization: 'Bearer secret' } });
    const other = await startHook();
    await act('test');
    expect(hook.requests.at(-1)?.headers.authorization).toBe('Bearer secret');
    await act('test', { url: `${hook.url}/other` });
    expect(hook.requests.at(-1)?.headers.authorization).toBe('Bearer secret');
    await act('test', { url: other.url });
    expect(other.requests.at(-1)?.headers.authorization).toBeUndefined();
    await act('test', { url: other.url, headers: { 'x-a': 'b' } });
    expect(other.requests.at(-1)?.headers['x-a']).toBe('b');
    await other.close();
  });
});
