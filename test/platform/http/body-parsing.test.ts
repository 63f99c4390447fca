import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t?.close());

const fetchOffers = (note: string) =>
  t.app.inject({
    method: 'POST',
    url: '/native/v4/offers.json?api_key=demo-key',
    headers: { 'content-type': 'application/json' },
    payload: `{"placement":"checkout","note":${note}}`,
  });

const nested = (depth: number, inside = ''): string => '['.repeat(depth) + inside + ']'.repeat(depth);

test('rejects a body that is nested thousands of levels deep as malformed', async () => {
  for (const note of [
    nested(20_000),
    `"\\\\",${'"a":'}${nested(20_000)}`,
    `${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}`,
  ]) {
    const answer = await fetchOffers(note);
    expect(answer.statusCode, note.slice(0, 40)).toBe(400);
    expect(answer.json().error.code).toBe('malformed_json');
  }
});

test('rejects a body with more members than any call needs as too large', async () => {
  const answer = await fetchOffers(`{${'"":1,'.repeat(11_000)}"a":1}`);
  expect(answer.statusCode).toBe(413);
  expect(answer.json().error).toMatchObject({ code: 'body_too_large', message: expect.stringContaining('10,000') });
});

test('accepts brackets in text and moderate nesting', async () => {
  for (const note of [`"${'['.repeat(400)}"`, `"\\"${'[{'.repeat(200)}\\\\"`, nested(60, `"${'\\\\\\"['.repeat(60)}"`)])
    expect((await fetchOffers(note)).statusCode, note.slice(0, 40)).toBe(200);
});

test('accepts a body with the content encoding identity', async () => {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'identity' };
  const url = '/native/v4/offers.json?api_key=demo-key';
  expect((await t.app.inject({ method: 'POST', url, headers, payload: '{"placement":"checkout"}' })).statusCode).toBe(
    200,
  );
});

test.each(['constructor', 'toString', 'valueOf', '__proto__', 'compress'])(
  'rejects the content encoding “%s” like any unknown encoding',
  async (encoding) => {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
    for (const path of ['/native/v4/offers.json', '/manage/v1/audiences']) {
      const answer = await t.app.inject({ method: 'POST', url: `${path}?api_key=demo-key`, headers, payload: '{}' });
      expect([answer.statusCode, answer.json().error.code]).toEqual([415, 'unsupported_media_type']);
    }
  },
);

test('answers every OPTIONS request like a preflight', async () => {
  const answer = await t.app.inject({ method: 'OPTIONS', url: '/native/v4/offers.json' });
  expect(answer.statusCode).toBe(204);
  expect(answer.headers['access-control-allow-methods']).toContain('POST');
});
