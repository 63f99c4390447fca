import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Caller, createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { signInAs } from '../dashboard/support.ts';
import { startTestJobs } from '../support/jobs.ts';

let t: ManagementApp;
let me: Caller;
let nowMs = Date.now();
beforeAll(async () => {
  t = await createManagementApp({ now: () => nowMs, config: { trustProxy: 1 } });
});
afterAll(() => t?.close());
beforeEach(async () => {
  me = await t.caller(await t.addPublisher());
});

type CreatedKey = { id: number; key: string };
const all = ['ads/offers', 'reports', 'configurations', 'offers/management', 'wallet'];

const make = async (restrictions: object, permissions: readonly string[] = all): Promise<CreatedKey> => {
  const created = await me.call('POST', '/keys', { name: 'Narrow', permissions, ...restrictions });
  expect(created.status).toBe(201);
  return created.body.data as CreatedKey;
};

type Call = { method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'; payload?: object; headers?: object; from?: string };

/** Sends a call from a client behind the trusted proxy. */
const call = async (
  { key }: Pick<CreatedKey, 'key'>,
  url: string,
  { method = 'GET', payload, headers, from }: Call = {},
) => {
  const answer = await t.app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': from ?? '203.0.113.7', ...headers },
    ...(payload !== undefined && { payload }),
  });
  return { status: answer.statusCode, body: answer.body === '' ? {} : answer.json() };
};
const fetchOffers = (key: Pick<CreatedKey, 'key'>, options: Call = {}) =>
  call(key, '/native/v4/offers.json', { method: 'POST', payload: { placement: 'checkout' }, ...options });

describe('a key with an IP allowlist', () => {
  test('403: is rejected from other addresses for fetches, management and reports', async () => {
    const key = await make({ allowed_addresses: ['203.0.113.7', '198.51.100.0/24', '2001:db8::/32'] });
    for (const [from, status] of [
      ['203.0.113.7', 200],
      ['::ffff:203.0.113.7', 200],
      ['198.51.100.200', 200],
      ['2001:db8:1::5', 200],
      ['203.0.113.8', 403],
      ['198.51.101.1', 403],
      ['2001:db9::1', 403],
      ['not an address', 403],
    ] as const) {
      expect((await fetchOffers(key, { from })).status, from).toBe(status);
      expect((await call(key, '/manage/v1/campaigns', { from })).status, from).toBe(status);
      expect((await call(key, '/native/activity.json', { from })).status, from).toBe(status);
    }
  });

  test('is checked against the address that the proxy saw, not one that the client claims', async () => {
    const key = await make({ allowed_addresses: ['203.0.113.7'] });
    expect((await fetchOffers(key, { from: '203.0.113.7, 192.0.2.1' })).status).toBe(403);
    const payload = { placement: 'checkout', ip: '203.0.113.7' };
    expect((await fetchOffers(key, { payload, from: '192.0.2.1' })).status).toBe(403);
    const headers = { 'x-real-ip': '203.0.113.7', forwarded: 'for=203.0.113.7' };
    expect((await fetchOffers(key, { headers, from: '192.0.2.1' })).status).toBe(403);
  });

  test('cannot widen its own allowlist or create a key with a wider one', async () => {
    const key = await make({ allowed_addresses: ['203.0.113.0/24'] });
    const fields = { name: 'Own', permissions: ['configurations'] };
    for (const allowed_addresses of [null, ['203.0.0.0/16'], ['0.0.0.0/0'], ['::/0'], ['203.0.113.1', '192.0.2.1']])
      for (const [method, url] of [
        ['POST', '/manage/v1/keys'],
        ['PATCH', `/manage/v1/keys/${key.id}`],
      ] as const) {
        const answer = await call(key, url, { method, payload: { ...fields, allowed_addresses } });
        expect([answer.status, answer.body.error.code], JSON.stringify(allowed_addresses)).toEqual([
          400,
          'invalid_request',
        ]);
        expect(answer.body.error.details[0].path).toMatch(/^\/allowed_addresses/);
      }
    const widened = await call(key, `/manage/v1/keys/${key.id}`, { method: 'PUT', payload: fields });
    expect(widened.status).toBe(400);
    const part = { ...fields, allowed_addresses: ['203.0.113.128/25'] };
    expect((await call(key, '/manage/v1/keys', { method: 'POST', payload: part })).status).toBe(201);
  });

  test('stores its addresses as networks, and reports invalid ones by position', async () => {
    const key = await make({ allowed_addresses: [' 10.1.2.3/8 ', '10.0.0.0/8', '2001:DB8::1'] });
    const stored = await me.call('GET', `/keys/${key.id}`);
    expect(stored.body.data.allowed_addresses).toEqual(['10.0.0.0/8', '2001:db8::1/128']);
    for (const wrong of ['10.0.0.0/33', 'shop.example', '::ffff:10.0.0.1', '10.0.0.1-10.0.0.9', 'fe80::1%eth0', '']) {
      const fields = { name: 'x', permissions: ['reports'], allowed_addresses: ['192.0.2.1', wrong] };
      const reply = await me.call('POST', '/keys', fields);
      expect([wrong, reply.status, reply.body]).toMatchObject([
        wrong,
        400,
        { error: { details: [{ path: '/allowed_addresses/1' }] } },
      ]);
    }
    expect((await me.call('POST', '/keys', { name: 'x', permissions: all, allowed_addresses: [] })).status).toBe(400);
  });

  test('is rejected from other addresses as soon as the allowlist is set', async () => {
    const key = await make({});
    expect((await fetchOffers(key, { from: '192.0.2.1' })).status).toBe(200);
    await me.call('PATCH', `/keys/${key.id}`, { allowed_addresses: ['203.0.113.7'] });
    expect((await fetchOffers(key, { from: '192.0.2.1' })).status).toBe(403);
  });
});

describe('a read-only key', () => {
  test('403: can read, but cannot change anything', async () => {
    const key = await make({ read_only: true });
    for (const url of ['/manage/v1/campaigns', '/manage/v1/keys', '/manage/v1/audit', '/native/activity.json'])
      expect((await call(key, url)).status, url).toBe(200);
    const refused: [Call['method'], string][] = [
      ['POST', '/native/v4/offers.json'],
      ['POST', '/manage/v1/advertisers'],
      ['POST', '/manage/v1/keys'],
      ['PATCH', `/manage/v1/keys/${key.id}`],
      ['PUT', `/manage/v1/keys/${key.id}`],
      ['DELETE', `/manage/v1/keys/${key.id}`],
      ['POST', '/manage/v1/catalogue/apply?dry_run=true'],
      ['POST', '/manage/v1/webhook-listeners'],
      ['GET', '/manage/v1/webhook-listeners/1/stream'],
      ['PUT', '/manage/v1/users/u1'],
    ];
    for (const [method = 'GET', url] of refused) {
      const answer = await call(key, url, { method, ...(method !== 'GET' && { payload: {} }) });
      expect([method, url, answer.status, answer.body.error?.code]).toEqual([method, url, 403, 'permission_denied']);
    }
  });

  test('can explain decisions and count offers', async () => {
    const key = await make({ read_only: true });
    const payload = { placement: 'checkout' };
    expect((await call(key, '/manage/v1/explain', { method: 'POST', payload })).status).toBe(200);
    expect((await call(key, '/native/v4/any.json', { method: 'POST', payload })).status).toBe(200);
  });
});

describe('last_used_at', () => {
  const use = (key: CreatedKey) => call(key, '/manage/v1/campaigns');
  const lastUse = async ({ id }: CreatedKey) => (await me.call('GET', `/keys/${id}`)).body.data.last_used_at;
  const writeUses = async () => (await startTestJobs(t, 'key uses')).stop();

  test('is the minute of the last accepted call, and is written later, without changing the ETag', async () => {
    const [key, elsewhere] = [await make({}), await make({ allowed_addresses: ['192.0.2.1'] })];
    const before = await me.call('GET', `/keys/${key.id}`);
    nowMs = Date.parse('2031-05-05T10:20:30.400Z');
    expect((await use(key)).status).toBe(200);
    await use(elsewhere);
    expect(await lastUse(key)).toBeNull();
    await writeUses();
    expect(await lastUse(key)).toBe('2031-05-05T10:20:00.000Z');
    expect(await lastUse(elsewhere)).toBeNull();
    expect((await me.call('GET', `/keys/${key.id}`)).headers.etag).toBe(before.headers.etag);
    nowMs -= 3_600_000;
    await use(key);
    await writeUses();
    expect(await lastUse(key)).toBe('2031-05-05T10:20:00.000Z');
    nowMs = Date.now();
  });

  test('is not part of the configuration, so updating it does not change the catalog version', async () => {
    const key = await make({});
    const version = async () => (await t.pool.query('select version from catalog_version')).rows[0]?.version;
    const before = await version();
    await use(key);
    await writeUses();
    expect(await lastUse(key)).not.toBeNull();
    expect(await version()).toBe(before);
  });
});

describe('key_max_days of a publisher', () => {
  const day = 86_400_000;
  const inDays = (days: number) => new Date(nowMs + days * day).toISOString();

  test('rejects new keys without an expiry or with a later one, but keeps older keys valid', async () => {
    const old = await make({});
    await me.call('PATCH', `/publishers/${me.publisherId}`, { key_max_days: 30 });
    const fields = { name: 'New', permissions: ['reports'] };
    for (const expires_at of [null, inDays(31)]) {
      const reply = await me.call('POST', '/keys', { ...fields, expires_at });
      expect(reply).toMatchObject({ status: 400, body: { error: { details: [{ path: '/expires_at' }] } } });
    }
    expect((await me.call('POST', '/keys', { ...fields, expires_at: inDays(29) })).status).toBe(201);
    expect((await me.call('PATCH', `/keys/${old.id}`, { name: 'Renamed' })).status).toBe(200);
    expect((await me.call('PATCH', `/keys/${old.id}`, { expires_at: inDays(31) })).status).toBe(400);
    for (const key_max_days of [0, 3651, 1.5, '30'])
      expect((await me.call('PATCH', `/publishers/${me.publisherId}`, { key_max_days })).status).toBe(400);
  });
});

test('a user creates a restricted key on the keys page and sees its restrictions and last use', async () => {
  const admin = await signInAs(t, 'admin', me.publisherId);
  const page = `/dashboard/p/${me.publisherId}/settings/keys`;
  const typed = { name: 'Till', permissions: 'reports', read_only: 'on' };
  const refused = await admin.post(page, { ...typed, allowed_addresses: '192.0.2.1\nshop' });
  expect(refused.statusCode).toBe(422);
  expect(refused.body).toContain('192.0.2.1\nshop');
  expect((await admin.post(page, { ...typed, allowed_addresses: '192.0.2.1\n2001:db8::/32' })).statusCode).toBe(200);
  const list = (await admin.get(page)).body;
  for (const text of ['Read-only', '2 IP addresses or networks', '192.0.2.1/32, 2001:db8::/32', 'Last used'])
    expect(list).toContain(text);
});
