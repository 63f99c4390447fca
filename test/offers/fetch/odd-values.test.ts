import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

/**
 * Unusual values of optional fields never cause a fetch to be rejected. The publisher sees a notice instead
 * (docs/reading-input.md#requests).
 */

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());
beforeEach(() => t.pool.query('truncate request_notices'));

type Sent = { query?: string; headers?: Record<string, string>; path?: string };

async function post(body: unknown, { query = '', headers = {}, path = '/native/v4/offers.json' }: Sent = {}) {
  const answer = await t.app.inject({
    method: 'POST',
    url: `${path}?api_key=${t.publisher.sdkId}${query}`,
    headers: { 'content-type': 'application/json', ...headers },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: answer.statusCode, body: answer.json() };
}

/** Returns the paths of the notices of all calls since the previous check. */
async function noted(): Promise<string[]> {
  await t.deps.requestLog.write();
  const { rows } = await t.pool.query<{ path: string }>(
    'with gone as (delete from request_notices returning path) select path from gone order by path',
  );
  return rows.map(({ path }) => path);
}

const odd: readonly unknown[] = [
  ...['', ' ', '\t', null, [], {}, [1], ['en'], { a: 1 }, { toString: 1 }, [[]], true, false, 0, -1, 1.5, 1e21, 5],
  ...['null', 'undefined', 'NaN', 'Infinity', '[object Object]', 'true', 'False', '%s', '{{x}}', "' or 1=1 --"],
  ...['<b>', '\u0000', 'a\u0000b', '\ud800', '\u202e', '🎁', 'ﬀ', 'ß', 'İ', 'C', 'POSIX', 'English', 'en_US.UTF-8'],
  ...['x'.repeat(2_000), '🎁'.repeat(3_000), '9'.repeat(500), Array(500).fill(0), { deep: { deep: { deep: [{}] } } }],
];

/**
 * Body fields, each with a value that is accepted without a notice, and a check for unusual values that are accepted as
 * well.
 */
const fields: Record<string, { good: unknown; alsoGood?: (value: unknown) => boolean }> = {
  ua: { good: 'App/1', alsoGood: isTextUpTo(2048) },
  user_agent: { good: 'App/1', alsoGood: isTextUpTo(2048) },
  ip: { good: '203.0.113.9' },
  ad_fp: { good: 'fp', alsoGood: isIdentifier },
  adpx_fp: { good: 'fp', alsoGood: isIdentifier },
  fingerprint: { good: 7, alsoGood: isIdentifier },
  pub_user_id: { good: 'user-1', alsoGood: isIdentifier },
  email_sha256: { good: 'a'.repeat(64) },
  dev: { good: '0', alsoGood: (value) => [true, false, 0].includes(value as never) },
  country: { good: 'de' },
  language: { good: 'pt_BR', alsoGood: (value) => value === 'en_US.UTF-8' || value === 'NaN' }, // nan: Min Nan Chinese
  timeout_ms: { good: 5000 },
  placements: { good: [{ name: 'one' }] },
  consent: { good: true, alsoGood: (value) => ['true', 'False', true, false, 0].includes(value as never) },
  experiments: { good: undefined },
};

function isTextUpTo(length: number): (value: unknown) => boolean {
  return (value) =>
    typeof value === 'string' && value.trim() !== '' && [...value].length <= length && !value.includes('\0');
}

function isIdentifier(value: unknown): boolean {
  return (typeof value === 'number' && Math.abs(value) < 2 ** 53) || isTextUpTo(256)(value);
}

describe('a fetch succeeds and gets a notice for unexpected values of', () => {
  test.each(Object.keys(fields))('%s', async (name) => {
    const { good, alsoGood = () => false } = fields[name] as (typeof fields)[string];
    expect((await post({ placement: 'checkout', [name]: good })).status).toBe(200);
    expect(await noted()).toEqual([]);
    for (const value of odd) {
      const text = JSON.stringify(value)?.slice(0, 60);
      const answer = await post({ placement: 'checkout', [name]: value });
      expect([text, answer.status, answer.body.error?.details]).toEqual([text, 200, undefined]);
      const paths = await noted();
      if (alsoGood(value)) expect([text, paths]).toEqual([text, []]);
      else expect([text, paths.some((path) => path.startsWith(`/${name}`))]).toEqual([text, true]);
    }
  });

  test.each(['themeId', 'theme_id'])('%s', async (name) => {
    for (const value of odd) {
      if (typeof value === 'number') continue; // may be the id of a theme
      const text = JSON.stringify(value).slice(0, 60);
      expect([text, (await post({ placement: 'checkout', [name]: value })).status]).toEqual([text, 200]);
      const isAbsent = value === null || (typeof value === 'string' && value.trim() === '');
      expect([text, await noted()]).toEqual([text, [isAbsent ? `/${name}` : '/themeId']]);
    }
  });

  test('placement, if the publisher has a default placement', async () => {
    const { rows } = await t.pool.query("update publishers set default_placement = 'receipt' returning id");
    expect(rows.length).toBeGreaterThan(0);
    await t.deps.catalog.refresh();
    for (const value of odd) {
      const text = JSON.stringify(value).slice(0, 60);
      expect([text, (await post({ placement: value })).status]).toEqual([text, 200]);
      const isName = isIdentifier(value) && (typeof value === 'number' || isTextUpTo(128)(value));
      expect([text, await noted()]).toEqual([text, isName ? [] : ['/placement']]);
    }
    await t.pool.query('update publishers set default_placement = null');
    await t.deps.catalog.refresh();
  });

  test('the whole body, if the publisher has a default placement', async () => {
    await t.pool.query("update publishers set default_placement = 'receipt'");
    await t.deps.catalog.refresh();
    for (const body of ['[]', '""', '5', 'true', '[{"placement":"p"}]']) {
      expect([body, (await post(body)).status]).toEqual([body, 200]);
      expect([body, await noted()]).toEqual([body, ['']]);
    }
    await t.pool.query('update publishers set default_placement = null');
    await t.deps.catalog.refresh();
  });

  test.each(['country', 'pub_user_id', 'timeout_ms', 'campaignId', 'creative', 'loyaltyboost', 'accountId'])(
    'the query parameter %s if it is empty',
    async (name) => {
      expect((await post({ placement: 'checkout' }, { query: `&${name}=` })).status).toBe(200);
      expect(await noted()).toEqual(name === 'accountId' ? [] : [`/querystring/${name}`]);
    },
  );

  test.each([
    ['timeout_ms', ['0', '9', '5001', '1e3', 'NaN', '-5', '10.5', '10ms', '%00']],
    ['campaignId', ['undefined', 'null', 'NaN', '-1', '1.5', '%00', 'x'.repeat(500)]],
    ['country', ['null', 'Germany', '%C3%9F', '49']],
  ])('the query parameter %s if it is invalid', async (name, values) => {
    for (const value of values) {
      const answer = await post({ placement: 'checkout' }, { query: `&${name}=${value}` });
      expect([value, answer.status]).toEqual([value, 200]);
      const path = name === 'country' ? '/country' : `/querystring/${name}`;
      expect([value, await noted()]).toEqual([value, [path]]);
    }
  });

  test('repeated query parameters', async () => {
    for (const name of ['country', 'pub_user_id', 'timeout_ms']) {
      const answer = await post({ placement: 'checkout' }, { query: `&${name}=1&${name}=2` });
      expect([name, answer.status]).toEqual([name, 200]);
      expect((await noted()).length).toBe(1);
    }
  });

  test('Accept-Language', async () => {
    for (const header of ['', '*', '*;q=0.5', 'de', 'en_US', 'en-US,en;q=0.5', 'de;q=x']) {
      expect((await post({ placement: 'checkout' }, { headers: { 'accept-language': header } })).status).toBe(200);
      expect([header, await noted()]).toEqual([header, []]);
    }
    for (const header of ['C', 'English', '5', 'x'.repeat(4_000), '"de"', 'null', 'x;;;,,,']) {
      expect((await post({ placement: 'checkout' }, { headers: { 'accept-language': header } })).status).toBe(200);
      expect([header, await noted()]).toEqual([header, ['/headers/accept-language']]);
    }
  });

  test('custom keys and their values', async () => {
    for (const value of odd) {
      const text = JSON.stringify(value).slice(0, 60);
      expect([text, (await post({ placement: 'checkout', own: value })).status]).toEqual([text, 200]);
    }
    await noted();
    const names = Object.fromEntries(['a b', 'ä', '', 'x'.repeat(65), '🎁', '$ref', 'a/b'].map((name) => [name, 1]));
    expect((await post({ placement: 'checkout', ...names })).status).toBe(200);
    expect(await noted()).toHaveLength(7);
    const many = Object.fromEntries(Array.from({ length: 4_000 }, (_, at) => [`bad ${at}`, 1]));
    expect((await post({ placement: 'checkout', ...many })).status).toBe(200);
    expect(await noted()).toHaveLength(50);
  });
});

describe('a fetch is rejected only for the values listed in the contract', () => {
  test.each([
    ['loyaltyboost=3', '&loyaltyboost=3', {}],
    ['a repeated loyaltyboost', '&loyaltyboost=1&loyaltyboost=1', {}],
    ['creative=true', '&creative=true', {}],
    ['creative in the body', '', { creative: 'yes' }],
    ['a repeated campaignId', '&campaignId=1&campaignId=1', {}],
    ['campaignId as a list', '&campaignId=1,2', {}],
    ['campaignId as a JSON array', '&campaignId=[1]', {}],
    ['a constructor key', '', { constructor: 1 }],
    ['an e-mail address as pub_user_id', '', { pub_user_id: 'ann@example.com' }],
  ])('%s', async (_name, query, body) => {
    expect((await post({ placement: 'checkout', ...body }, { query })).status).toBe(400);
    await noted();
  });
});

test('any.json, the offerwall and explanations parse values in the same way', async () => {
  const body = { placement: 'checkout', language: 'English', email_sha256: '', dev: 'maybe', timeout_ms: 'soon' };
  for (const path of ['/native/v4/any.json', '/native/v4/offerwall.json']) {
    expect([path, (await post(body, { path })).status]).toEqual([path, 200]);
    expect([path, await noted()]).toEqual([path, ['/dev', '/email_sha256', '/language', '/timeout_ms']]);
  }
  const explained = await t.app.inject({
    method: 'POST',
    url: `/manage/v1/explain?api_key=${t.publisher.key}`,
    payload: body,
  });
  expect(explained.statusCode, explained.body).toBe(200);
});

test('the offerwall parameter limit counts as absent if it is invalid', async () => {
  for (const limit of [0, 101, 'many', '', null, [5]]) {
    const answer = await post({ placement: 'wall', limit }, { path: '/native/v4/offerwall.json' });
    expect([limit, answer.status]).toEqual([limit, 200]);
    expect([limit, await noted()]).toEqual([limit, ['/limit']]);
  }
});

describe('the SDK ID is read from', () => {
  test('the query parameter accountId of native SDKs before any other source except api_key', async () => {
    const url = '/native/v4/offers.json';
    const call = (query: string, body: object = {}) =>
      t.app.inject({ method: 'POST', url: `${url}?${query}`, payload: { placement: 'checkout', ...body } });
    expect((await call(`accountId=${t.publisher.sdkId}`)).statusCode).toBe(200);
    expect((await call(`accountId=${t.publisher.sdkId}`, { key: 'unknown' })).statusCode).toBe(200);
    expect((await call(`api_key=unknown&accountId=${t.publisher.sdkId}`)).statusCode).toBe(401);
    expect((await call('accountId=unknown')).statusCode).toBe(401);
  });
});
