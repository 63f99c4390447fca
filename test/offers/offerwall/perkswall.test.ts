import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ scripts: true });
});
afterAll(() => t.close());
beforeEach(() => t.pool.query('truncate sessions'));

const page = (query: Record<string, string>, method: 'GET' | 'HEAD' = 'GET', headers = {}) =>
  t.app.inject({ method, url: `/offerwall/v2/?${new URLSearchParams(query)}`, headers });
const sessionCount = async () => (await t.pool.query('select 1 from sessions')).rowCount;

describe('POST /native/v2/perkswall.json', () => {
  test('responds like the offerwall, and keeps the click ID of the visitor', async () => {
    const ask = async (path: string) =>
      (
        await t.app.inject({
          method: 'POST',
          url: `${path}?api_key=${t.publisher.sdkId}`,
          payload: { placement: 'wall', c_id: 4711, country: 'deu', themeId: 'single-offer' },
        })
      ).json().data;
    const [perkswall, offerwall] = [await ask('/native/v2/perkswall.json'), await ask('/native/v4/offerwall.json')];
    expect(Object.keys(perkswall)).toEqual(Object.keys(offerwall));
    expect(perkswall.total).toBe(offerwall.total);
    const { rows } = await t.pool.query('select custom, country from sessions');
    expect(rows).toEqual(Array(2).fill({ custom: { c_id: '4711' }, country: 'DE' }));
  });
});

describe('the page /offerwall/v2/', () => {
  const accountId = () => t.publisher.sdkId;

  test('is served with and without a trailing slash, and creates no session by itself', async () => {
    for (const url of [`/offerwall/v2?accountId=${accountId()}`, `/offerwall/v2/?accountId=${accountId()}`]) {
      const answer = await t.app.inject({ url });
      expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(answer.headers['cache-control']).toBe('no-store');
    }
    expect((await page({ accountId: accountId() }, 'HEAD')).statusCode).toBe(200);
    expect((await page({ accountId: accountId() }, 'GET', { 'sec-purpose': 'prefetch' })).statusCode).toBe(200);
    expect(await sessionCount()).toBe(0);
  });

  test('never repeats text from its URL', async () => {
    const hostile = '"></script><script>alert(1)</script>';
    const { body } = await page({
      accountId: accountId(),
      themeId: hostile,
      country: hostile,
      c_id: hostile,
      standalone: hostile,
      [hostile]: hostile,
    });
    expect(body).not.toContain('alert(1)');
    expect(body).toBe((await page({ accountId: accountId() })).body);
  });

  test.each(['', 'ffffffffffffffff', "' or 1=1", '__proto__'])('400: %j is not an account', async (id) => {
    expect((await page({ accountId: id })).statusCode).toBe(400);
  });

  test('400: an account parameter is repeated', async () => {
    const { statusCode } = await t.app.inject(`/offerwall/v2/?accountId=${accountId()}&accountId=x`);
    expect(statusCode).toBe(400);
  });

  test('may be framed by any page until the publisher lists the allowed hosts', async () => {
    const policy = async () => String((await page({ accountId: accountId() })).headers['content-security-policy']);
    expect(await policy()).not.toContain('frame-ancestors');
    await t.pool.query("update publishers set frame_hosts = '{https://shop.example}' where id = $1", [t.publisher.id]);
    await t.deps.catalog.refresh();
    expect(await policy()).toContain("frame-ancestors 'self' https://shop.example");
  });

  test('403: the publisher has no offerwall', async () => {
    await t.pool.query('update publishers set offerwall_enabled = false');
    await t.deps.catalog.refresh();
    for (const url of ['/offerwall/v2/', '/offerwall/v2/style.css'])
      expect((await t.app.inject(`${url}?accountId=${accountId()}`)).statusCode).toBe(403);
    await t.pool.query('update publishers set offerwall_enabled = true');
    await t.deps.catalog.refresh();
  });
});

test('the style sheet of an embedded container applies root and body styles to the host element', async () => {
  const answer = await t.app.inject(`/offerwall/v2/style.css?accountId=${t.publisher.sdkId}&themeId=single-offer`);
  expect(answer.statusCode).toBe(200);
  expect(answer.headers).toMatchObject({
    'content-type': 'text/css; charset=utf-8',
    'access-control-allow-origin': '*',
    'x-content-type-options': 'nosniff',
  });
  expect(answer.body).toContain(':host{');
  expect(answer.body).not.toMatch(/:root|(^|[},\s])body[{,\s]/);
});
