import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { requestOver } from '../../support/request.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ scripts: true });
});
afterAll(() => t.close());

/** Headers that a browser sends when it opens a link. */
const opening = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', 'sec-fetch-mode': 'navigate' };

const get = (url: string, headers: Record<string, string> = opening) => t.app.inject({ url, headers });

describe('the error page of an invalid link', () => {
  test.each([
    ['/privacy/0000000000000000', 404, 'Page not found', 'not_found'],
    ['/wallet?t=nonsense', 400, 'This link does not work', 'invalid_token'],
    ['/wallet/v1/save.json?t=nonsense', 400, 'This link does not work', 'invalid_token'],
    ['/offerwall?sdk_id=0000000000000000', 400, 'This link does not work', 'invalid_token'],
  ])('%s', async (url, status, title, code) => {
    const page = await get(url);
    expect([page.statusCode, page.headers['content-type']]).toEqual([status, 'text/html; charset=utf-8']);
    expect(page.body).toContain(`<h1>${title}</h1>`);
    const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(page.body) ?? [];
    expect(page.headers['content-security-policy']).toContain(
      `'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    );
    const program = await get(url, { accept: 'application/json' });
    expect([program.statusCode, program.json().error.code]).toEqual([status, code]);
  });

  test('is shown for an offer link in a browser, while images and programs still get the image', async () => {
    const page = await get('/sdk/offer-click?t=nonsense');
    expect([page.statusCode, page.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8']);
    expect(page.body).toContain('This offer is no longer available');
    for (const headers of [{ accept: 'text/html' }, { accept: 'image/png', 'sec-fetch-mode': 'no-cors' }, {}]) {
      const image = await get('/sdk/offer-click?t=nonsense', headers as Record<string, string>);
      expect([image.statusCode, image.headers['content-type']]).toEqual([400, 'image/png']);
    }
    const beacon = await requestOver(t.app, { url: '/event/record/close?t=nonsense', headers: opening });
    expect([beacon.statusCode, beacon.headers['content-type']]).toEqual([400, 'image/png']);
  });

  test('asks the user to wait after too many attempts', async () => {
    const guess = () => t.app.inject({ url: '/privacy/1', headers: opening, remoteAddress: '10.9.9.9' });
    const refused = (await Promise.all(Array.from({ length: 150 }, guess))).find(
      ({ statusCode }) => statusCode === 429,
    );
    expect(refused?.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'retry-after': '1' });
    expect(refused?.body).toContain('Too many attempts');
  });
});

test('pages of any origin may delete a saved offer after a preflight, and other methods are unchanged', async () => {
  const preflight = async (url: string) => {
    const headers = { origin: 'https://shop.example', 'access-control-request-method': 'DELETE' };
    return (await t.app.inject({ method: 'OPTIONS', url, headers })).headers;
  };
  expect(await preflight('/wallet/v1/offers/1.json')).toMatchObject({
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, DELETE, OPTIONS',
    'access-control-allow-headers': 'content-type, authorization, x-sdk-id, accept',
  });
  expect((await preflight('/native/v4/offers.json'))['access-control-allow-methods']).toBe('GET, POST, PUT, OPTIONS');
  const removed = await t.app.inject({
    method: 'DELETE',
    url: '/wallet/v1/offers/1.json?pub_user_id=u&api_key=demo-key',
    headers: { origin: 'https://shop.example' },
  });
  expect([removed.statusCode, removed.headers['access-control-allow-origin']]).toEqual([404, '*']);
});
