import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

const startMs = Date.now();
let nowMs = startMs;
let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
});
afterAll(() => t?.close());
beforeEach(() => {
  nowMs = startMs;
});

type Call = { query?: string; authorization?: string; body?: Record<string, unknown> };

async function call({
  query = '',
  authorization,
  body = {},
}: Call): Promise<{ status: number; code: string | undefined; session: string | undefined }> {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?${query}`,
    ...(authorization === undefined ? {} : { headers: { authorization } }),
    payload: { placement: 'checkout', ...body },
  });
  const json = answer.json();
  return { status: answer.statusCode, code: json.error?.code, session: json.data?.session_id };
}

async function addKey(
  key: string,
  over: { permissions?: string[]; expiresAt?: Date; perS?: number } = {},
): Promise<void> {
  await t.pool.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions, expires_at, rate_limit_per_s)
     values ($1, $2::text, sha256($2::text::bytea), $3, $4, $5)`,
    [t.publisher.id, key, over.permissions ?? ['ads/offers'], over.expiresAt ?? null, over.perS ?? null],
  );
  await t.deps.catalog.refresh();
}

describe('a key', () => {
  test.each<[string, Call]>([
    ['in the query', { query: 'api_key=demo-key' }],
    ['as a bearer token', { authorization: 'Bearer demo-key' }],
    ['as a bearer token in another case, with extra spaces', { authorization: 'bEARER   demo-key' }],
    ['as key in the body', { body: { key: 'demo-key' } }],
    ['as api_key in the body', { body: { api_key: 'demo-key' } }],
    [
      'in the query, regardless of all other keys',
      { query: 'api_key=demo-key', authorization: 'Bearer x', body: { key: 'x', api_key: 'x' } },
    ],
    [
      'as a bearer token, regardless of keys in the body',
      { authorization: 'Bearer demo-key', body: { key: 'x', api_key: 'x' } },
    ],
    ['as key, regardless of api_key', { body: { key: 'demo-key', api_key: 'x' } }],
    ['in the body if the key in the query is empty', { query: 'api_key=', body: { key: 'demo-key' } }],
    [
      'in the body if the authorization header has another scheme',
      { authorization: 'Basic eDp5', body: { key: 'demo-key' } },
    ],
  ])('is accepted %s', async (_place, where) => {
    expect((await call(where)).status).toBe(200);
  });

  test.each<[string, Call, string]>([
    ['missing', {}, 'missing_key'],
    ['empty everywhere', { query: 'api_key=', body: { key: '', api_key: '' } }, 'missing_key'],
    [
      'unknown in the query but known in the header',
      { query: 'api_key=x', authorization: 'Bearer demo-key' },
      'unknown_key',
    ],
    ['repeated', { query: 'api_key=demo-key&api_key=demo-key' }, 'unknown_key'],
    ['in another case', { query: 'api_key=DEMO-KEY' }, 'unknown_key'],
    ['followed by a space', { query: 'api_key=demo-key%20' }, 'unknown_key'],
    ['truncated', { query: 'api_key=demo-ke' }, 'unknown_key'],
    ['the name of a built-in object property', { query: 'api_key=__proto__' }, 'unknown_key'],
    ['an SDK ID in upper case', { query: 'api_key=0123456789ABCDEF' }, 'unknown_key'],
  ])('is rejected with 401 if it is %s', async (_how, where, code) => {
    expect(await call(where)).toEqual({ status: 401, code, session: undefined });
  });

  test('counts as missing if it is null, because some clients send null for unknown values', async () => {
    const errorCode = async (body: object) => {
      const url = '/sdk/v4/usp/session/01a220db-0406-75da-8c39-cf5948733ab6.json';
      return (await t.app.inject({ method: 'POST', url, payload: { action: 'wrap', ...body } })).json().error.code;
    };
    expect(await errorCode({ key: null, api_key: 'demo-key' })).toBe('session_not_found');
    expect(await errorCode({ key: null })).toBe('missing_key');
  });

  test('is rejected if it is not text', async () => {
    expect((await call({ body: { key: 5 } })).status).toBe(401);
    expect((await call({ body: { key: ['demo-key'] } })).status).toBe(401);
  });

  test('works until its expiry, to the millisecond', async () => {
    await addKey('until-then', { expiresAt: new Date(startMs + 60_000) });
    nowMs = startMs + 59_999;
    expect((await call({ query: 'api_key=until-then' })).status).toBe(200);
    nowMs = startMs + 60_000;
    expect((await call({ query: 'api_key=until-then' })).code).toBe('unknown_key');
  });

  test('stops working without a restart when it is revoked', async () => {
    await addKey('soon-revoked');
    expect((await call({ query: 'api_key=soon-revoked' })).status).toBe(200);
    await t.pool.query("update api_keys set revoked_at = now() where name = 'soon-revoked'");
    await expect.poll(async () => (await call({ query: 'api_key=soon-revoked' })).code).toBe('unknown_key');
  });

  test('gets 429 with retry-after above its rate limit, and works again after a second', async () => {
    await addKey('five-a-second', { perS: 5 });
    const statuses = async () =>
      (await Promise.all(Array.from({ length: 8 }, () => call({ query: 'api_key=five-a-second' }))))
        .map(({ status }) => status)
        .sort();
    expect(await statuses()).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
    nowMs += 1000;
    expect(await statuses()).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
  });
});

describe('a permission', () => {
  const manage = async (key: string) => {
    const answer = await t.app.inject(`/manage/v1/webhook-endpoints/usp.selection?api_key=${key}`);
    return { status: answer.statusCode, code: answer.json().error?.code, message: answer.json().message };
  };

  test('is required for each call, and a key without it gets a 403 that names it', async () => {
    await addKey('reports-only', { permissions: ['reports'] });
    expect((await call({ query: 'api_key=reports-only' })).code).toBe('permission_denied');
    expect(await manage('reports-only')).toMatchObject({
      status: 403,
      message: 'This API key does not have the permission configurations.',
    });
  });

  test('gives no access to calls that require a different permission', async () => {
    await addKey('offers-only');
    await addKey('configurations-only', { permissions: ['configurations'] });
    expect((await call({ query: 'api_key=offers-only' })).status).toBe(200);
    expect((await manage('offers-only')).status).toBe(403);
    expect((await manage('configurations-only')).code).toBe('endpoint_not_found');
    expect((await call({ query: 'api_key=configurations-only' })).status).toBe(403);
  });

  test('allows the public SDK ID only to fetch offers', async () => {
    expect((await call({ query: `api_key=${t.publisher.sdkId}` })).status).toBe(200);
    expect(await manage(t.publisher.sdkId)).toMatchObject({ status: 403, code: 'permission_denied' });
  });
});

test('a key is stored only as a hash', async () => {
  const { rows } = await t.pool.query("select key_hash from api_keys where key_hash = sha256('demo-key')");
  expect(rows).toHaveLength(1);
  const { rows: plain } = await t.pool.query("select 1 from api_keys k where k::text like '%demo-key%'");
  expect(plain).toEqual([]);
});

test('a key returns only the offers of its own publisher', async () => {
  const { rows } = await t.pool.query<{ id: number }>(
    "insert into publishers (name, sdk_id) values ('Other', 'feedfeedfeedfeed') returning id",
  );
  await t.pool.query(
    `insert into api_keys (publisher_id, name, key_hash, permissions)
       values ($1, 'other', sha256('other-key'), '{ads/offers}')`,
    [rows[0]?.id],
  );
  await t.deps.catalog.refresh();
  for (const key of ['other-key', 'feedfeedfeedfeed']) {
    const { session } = await call({ query: `api_key=${key}` });
    const stored = await t.pool.query('select publisher_id, offer_ids from sessions where id = $1', [session]);
    expect(stored.rows).toEqual([{ publisher_id: rows[0]?.id, offer_ids: [] }]);
  }
});
