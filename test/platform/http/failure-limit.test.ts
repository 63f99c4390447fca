import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createRateLimit } from '../../../src/platform/http/failure-limit.ts';
import { takeToken } from '../../../src/platform/lib/token-bucket.ts';
import { requestOver, type TestResponse } from '../../support/request.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

const startMs = Date.now();
let nowMs = startMs;
let t: TestApp;
let behindProxy: TestApp;
beforeAll(async () => {
  t = await createTestApp({ now: () => nowMs });
  behindProxy = await createTestApp({ databaseUrl: t.databaseUrl, now: () => nowMs, config: { trustProxy: 1 } });
});
afterAll(async () => {
  await behindProxy?.close();
  await t?.close();
});
let address: string;
let addresses = 0;
beforeEach(() => {
  nowMs = startMs;
  address = `127.51.100.${++addresses}`;
});

type Call = { key?: string; url?: string; from?: string; forwardedFor?: string; app?: TestApp; placement?: string };

/** Sends a call. If `url` is set, `from` must be in 127.0.0.0/8. */
const call = ({
  key = 'bad-key',
  url,
  from = address,
  forwardedFor,
  app = t,
  placement = 'checkout',
}: Call): Promise<TestResponse> => {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  if (url !== undefined) return requestOver(app.app, { url, remoteAddress: from, headers });
  const fetching = { method: 'POST', url: `/native/v4/offers.json?api_key=${key}`, payload: { placement } } as const;
  return app.app.inject({ ...fetching, remoteAddress: from, headers });
};

async function statusesOf(count: number, make: (index: number) => Call): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let index = 0; index < count; index++) {
    const { statusCode } = await call(make(index));
    counts[statusCode] = (counts[statusCode] ?? 0) + 1;
  }
  return counts;
}

describe('failures of one client address', () => {
  test('are limited together for all IPv6 addresses of one network', async () => {
    expect(await statusesOf(120, (index) => ({ from: `2001:db8:0:7::${index.toString(16)}` }))).toEqual({
      401: 100,
      429: 20,
    });
    expect((await call({ from: '2001:db8:0:8::1' })).statusCode).toBe(401);
  });

  test('get 429 with retry-after beyond 100 at once, while a valid key still works', async () => {
    expect(await statusesOf(120, (index) => ({ key: `bad-key-${index}` }))).toEqual({ 401: 100, 429: 20 });
    const limited = await call({});
    expect(limited.headers['retry-after']).toBe('1');
    expect(limited.json()).toMatchObject({ error: { code: 'too_many_requests' }, request_id: expect.any(String) });
    expect((await call({ key: 'demo-key' })).statusCode).toBe(200);
  });

  test('are allowed again at 20 per second', async () => {
    await statusesOf(110, () => ({}));
    nowMs += 1000;
    expect(await statusesOf(30, () => ({}))).toEqual({ 401: 20, 429: 10 });
    nowMs += 3600_000;
    expect(await statusesOf(120, () => ({}))).toEqual({ 401: 100, 429: 20 });
  });

  test('do not count for another address', async () => {
    await statusesOf(110, () => ({}));
    expect((await call({ from: '192.0.2.1' })).statusCode).toBe(401);
  });

  test('count together for invalid keys, missing keys, invalid tokens, unknown routes and wrong methods', async () => {
    const kinds: Call[] = [
      {},
      { key: '' },
      { url: '/sdk/v2/impression/p.png?t=nonsense' },
      { url: '/nowhere' },
      { url: '/native/v4/offers.json' },
    ];
    expect(await statusesOf(105, (index) => kinds[index % 5] as Call)).toEqual({
      400: 20,
      401: 40,
      404: 20,
      405: 20,
      429: 5,
    });
  });

  test('are never limited with a valid key, because one server may call for all of its users', async () => {
    expect(await statusesOf(150, () => ({ key: 'demo-key', placement: ' ' }))).toEqual({ 400: 150 });
    expect((await call({})).statusCode).toBe(401);
  });

  test('ignore forwarding headers unless proxies are trusted', async () => {
    expect(await statusesOf(110, (index) => ({ forwardedFor: `203.0.113.${index}` }))).toEqual({ 401: 100, 429: 10 });
  });

  test('count for the client that a trusted proxy reports', async () => {
    const through = (client: string): Call => ({ app: behindProxy, from: '10.0.0.1', forwardedFor: client });
    expect(await statusesOf(110, () => through(address))).toEqual({ 401: 100, 429: 10 });
    expect((await call(through('192.0.2.77'))).statusCode).toBe(401);
    // Addresses that the client itself put into the header come before the address that the proxy added.
    expect((await call(through(`192.0.2.78, ${address}`))).statusCode).toBe(429);
  });

  test.each([
    ['by hop count', 1],
    ['by address', ['127.51.0.1']],
    ['unconditionally', true],
  ])('count for the client of a beacon if a proxy is trusted %s', async (_, trustProxy) => {
    const app = await createTestApp({ databaseUrl: t.databaseUrl, now: () => nowMs, config: { trustProxy } });
    const url = '/event/record/close?t=nonsense';
    const through = (client: string): Call => ({ app, url, from: '127.51.0.1', forwardedFor: client });
    expect(await statusesOf(105, () => through('192.0.2.79'))).toEqual({ 400: 100, 429: 5 });
    expect((await call(through('192.0.2.80'))).statusCode).toBe(400);
    expect((await call({ app, url: '/nowhere', from: '127.51.0.1', forwardedFor: '192.0.2.79' })).statusCode).toBe(429);
    await app.close();
  });
});

test('a bucket allows exactly what its burst and rate permit', () => {
  const calls = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(calls, fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 100 }), (pausesMs, perS, burst) => {
      const bucket = { tokens: burst, atMs: 0 };
      let timeMs = 0;
      // Reference model that counts thousandths of a token, to avoid fractions.
      let remaining = burst * 1000;
      for (const pauseMs of pausesMs) {
        timeMs += pauseMs;
        remaining = Math.min(burst * 1000, remaining + pauseMs * perS);
        const isTaken = takeToken(bucket, { perS, burst }, timeMs);
        if (Math.abs(remaining - 1000) > 1) expect(isTaken).toBe(remaining >= 1000);
        if (isTaken) remaining -= 1000;
      }
    }),
  );
});

test('a clock that moves backwards grants no extra requests', () => {
  const take = createRateLimit(() => timeMs);
  let timeMs = 10_000;
  expect(take('a', { perS: 1, burst: 1 })).toBe(true);
  timeMs = 0;
  expect(take('a', { perS: 1, burst: 1 })).toBe(false);
});
