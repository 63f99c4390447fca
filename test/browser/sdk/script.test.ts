import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodingFor } from '../../../src/platform/http/static-text.ts';
import { languages } from '../../../src/platform/i18n/languages.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp({ scripts: true });
});
afterAll(() => t.close());

const get = (url: string, headers: Record<string, string> = {}) => t.app.inject({ url, headers });

test('the script is at most 19,900 bytes compressed', async () => {
  const { rawPayload } = await get('/launcher.min.js');
  expect(gzipSync(rawPayload, { level: 9 }).length).toBeLessThanOrEqual(19_900);
});

const textsIn = (tree: object): string[] =>
  Object.values(tree).flatMap((part) => (typeof part === 'string' ? [part] : textsIn(part)));

test('scripts contain only the English end-user texts, and load other languages on demand', async () => {
  const { en: english, ...others } = languages;
  const { endUser, ...dashboard } = english.texts;
  const foreign = textsIn([dashboard, Object.values(others).map(({ texts }) => texts)]).filter(
    (text) => text.length > 16 && !textsIn(endUser).includes(text),
  );
  expect(foreign.length).toBeGreaterThan(1500);
  const urls = ['/launcher.min.js', '/launcher.perkswall.js', '/sdk/conversion.js'];
  const scripts = await Promise.all(urls.map(async (url) => (await get(url)).body));
  expect(scripts[1]).toContain(endUser.offerwall.noMatch);
  for (const script of scripts) expect(foreign.filter((text) => script.includes(text))).toEqual([]);
  const { unit, offerwall } = languages.de.texts.endUser;
  expect((await get('/sdk/messages.de.json')).json()).toEqual({ language: 'de', unit, offerwall });
});

test('any page can load the script and cache it for five minutes', async () => {
  const names = [
    'launcher.js',
    'launcher.min.js',
    'launcher.native.min.js',
    'launcher.impl.js',
    'exit.js',
    'omnisdk.js',
  ];
  for (const url of names.flatMap((name) => [`/sdk/${name}`, `/${name}`])) {
    const answer = await get(url, { origin: 'https://shop.example' });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
      'cache-control': expect.stringMatching(/^public, max-age=300\b/),
      vary: expect.stringContaining('accept-encoding'),
    });
    const revalidated = await get(url, { 'if-none-match': String(answer.headers.etag) });
    expect([revalidated.statusCode, revalidated.body]).toEqual([304, '']);
  }
});

test('the script contains the URL of its service, for pages where it cannot read its own URL', async () => {
  const { body } = await get('/launcher.min.js');
  expect(body).toContain(JSON.stringify(t.deps.config.publicUrl));
  expect(body).not.toContain('%%');
});

test('the URL with the content hash is immutable, and that of another release redirects to the launcher', async () => {
  const plain = await get('/sdk/launcher.js');
  const hash = createHash('sha256').update(plain.rawPayload).digest('hex').slice(0, 12);
  expect(plain.headers['content-location']).toBe(`/sdk/launcher.${hash}.js`);
  const versioned = await get(`/sdk/launcher.${hash}.js`);
  expect(versioned.headers['cache-control']).toBe('public, max-age=31536000, immutable');
  expect(versioned.body).toBe(plain.body);
  const other = await get('/sdk/launcher.0123456789ab.js');
  expect([other.statusCode, other.headers.location, other.headers['cache-control']]).toEqual([
    302,
    '/sdk/launcher.js',
    'no-store',
  ]);
  expect((await get('/sdk/launcher.nothing.js')).statusCode).toBe(404);
});

test('the script is compressed for clients that accept compression', async () => {
  const plain = await get('/sdk/launcher.js');
  const compressed = await get('/sdk/launcher.js', { 'accept-encoding': 'gzip, br;q=0' });
  expect(compressed.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(compressed.rawPayload).equals(plain.rawPayload)).toBe(true);
  expect(compressed.headers.etag).not.toBe(plain.headers.etag);
  expect(['gzip, deflate, br', 'gzip;q=0.5', 'br;q=0.0', 'identity', undefined].map(encodingFor)).toEqual([
    'br',
    'gzip',
    'identity',
    'identity',
    'identity',
  ]);
});

test('the resources shared by units have a content hash in their URL and are immutable', async () => {
  const { body } = await get('/launcher.js');
  const [path = ''] = body.match(/\/sdk\/unit\.[0-9a-f]{12}\.json/) ?? [];
  const unit = await get(path, { origin: 'https://shop.example' });
  expect(unit.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
  });
  const other = await get('/sdk/unit.0123456789ab.json');
  expect([other.statusCode, other.body, other.headers['cache-control']]).toEqual([200, unit.body, 'no-store']);
});

test('the script contains nothing that a strict policy forbids', async () => {
  const { body } = await get('/sdk/launcher.js');
  expect(body).not.toMatch(/\beval\(|new Function\(|\.innerHTML|document\.write|setAttribute\("style"/);
});
