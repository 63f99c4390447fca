import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ErrorClass, SendResult } from '../../../../src/webhooks/dispatcher/send/result.ts';
import {
  classify,
  defaultSteps,
  nextAttempt,
  parseRetryAfter,
} from '../../../../src/webhooks/dispatcher/settle/retry-schedule.ts';

const nowMs = Date.UTC(2026, 10, 21, 12);
const dayMs = 86_400_000;
const timing = { dnsMs: 0, connectMs: null, tlsMs: null, firstByteMs: 1, totalMs: 1 };

const answered = (status: number, headers: Record<string, string> = {}): SendResult => ({
  kind: 'response',
  status,
  headers,
  body: Buffer.alloc(0),
  truncated: false,
  remoteAddress: '192.0.2.1',
  timing,
});
const failed = (errorClass: ErrorClass): SendResult => ({ kind: 'error', class: errorClass, message: 'x', timing });

describe('the retry schedule', () => {
  test('makes ten attempts, immediately and after 5 s, 5 min, 30 min and 2, 5, 10, 14, 20 and 24 h', () => {
    const waits = Array.from({ length: 11 }, (_, attempts) =>
      nextAttempt({ attempts, steps: defaultSteps, random: () => 0.5, retryAfterMs: null }),
    ).map((next) => (next === null ? null : next.delayMs / 1000));
    expect(waits).toEqual([0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400, null]);
  });

  const anyRandom = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const anySteps = fc.array(fc.nat(604_800), { minLength: 1, maxLength: 20 });

  test('keeps each wait within 20% of its step for any steps', () => {
    fc.assert(
      fc.property(anySteps, fc.nat(25), anyRandom, (steps, attempts, random) => {
        const next = nextAttempt({ attempts, steps, random: () => random, retryAfterMs: null });
        const stepMs = (steps[attempts] ?? 0) * 1000;
        if (attempts >= steps.length) expect(next).toBeNull();
        else {
          expect(next?.delayMs).toBeGreaterThanOrEqual(stepMs * 0.8 - 1);
          expect(next?.delayMs).toBeLessThanOrEqual(stepMs * 1.2 + 1);
          expect(Number.isInteger(next?.delayMs)).toBe(true);
        }
      }),
    );
  });

  test('allows a receiver to delay an attempt by up to 24 h, but never to advance or add one', () => {
    fc.assert(
      fc.property(anySteps, fc.nat(25), anyRandom, fc.nat(10 * dayMs), (steps, attempts, random, retryAfterMs) => {
        const plain = nextAttempt({ attempts, steps, random: () => random, retryAfterMs: null });
        const delayedAttempt = nextAttempt({ attempts, steps, random: () => random, retryAfterMs });
        if (plain === null) expect(delayedAttempt).toBeNull();
        else expect(delayedAttempt?.delayMs).toBe(Math.max(plain.delayMs, Math.min(retryAfterMs, dayMs)));
      }),
    );
  });

  test('spreads the retries of deliveries that failed together', () => {
    const ends = [0, 0.999].map(
      (random) => nextAttempt({ attempts: 2, steps: defaultSteps, random: () => random, retryAfterMs: null })?.delayMs,
    );
    expect(ends[0]).toBe(240_000);
    expect(ends[1]).toBeGreaterThan(359_000);
  });
});

describe('the outcome of a response', () => {
  test('is delivered for every 2xx', () => {
    for (let status = 200; status < 300; status++)
      expect(classify(answered(status), nowMs)).toEqual({ outcome: 'delivered', status, disables: null });
  });

  test('disables the endpoint for 410', () => {
    expect(classify(answered(410), nowMs)).toEqual({ outcome: 'disable_endpoint', status: 410, disables: 'gone' });
  });

  test('disables the endpoint for webhook-delivery: disable at any status, while a 2xx still counts', () => {
    const headers = { 'webhook-delivery': ' Disable' };
    expect(classify(answered(204, headers), nowMs)).toEqual({ outcome: 'delivered', status: 204, disables: 'asked' });
    for (const status of [302, 400, 429, 503])
      expect(classify(answered(status, headers), nowMs)).toEqual({
        outcome: 'disable_endpoint',
        status,
        disables: 'asked',
      });
    expect(classify(answered(200, { 'webhook-delivery': 'enable' }), nowMs)).toMatchObject({ disables: null });
  });

  test('is a retry for every other status, and a redirect is reported as one', () => {
    for (let status = 300; status < 600; status++) {
      if (status === 410) continue;
      const failure = status < 400 ? 'redirect' : 'status';
      expect(classify(answered(status), nowMs)).toEqual({
        outcome: 'retry',
        countsAsAttempt: true,
        status,
        failure,
        retryAfterMs: null,
      });
    }
  });

  test.each([429, 502, 503, 504])('%i may request a wait', (status) => {
    expect(classify(answered(status, { 'retry-after': '120' }), nowMs)).toMatchObject({
      outcome: 'retry',
      retryAfterMs: 120_000,
    });
  });

  test.each([301, 400, 404, 408, 500, 501, 505])('%i may not request a wait', (status) => {
    expect(classify(answered(status, { 'retry-after': '120' }), nowMs)).toMatchObject({
      outcome: 'retry',
      retryAfterMs: null,
    });
  });

  test('uses up an attempt for a forbidden target', () => {
    const verdict = classify({ kind: 'blocked', reason: 'blocked_address' }, nowMs);
    expect(verdict).toEqual({
      outcome: 'retry',
      countsAsAttempt: true,
      status: null,
      failure: 'blocked',
      retryAfterMs: null,
    });
  });

  test.each<ErrorClass>(['timeout', 'dns', 'connect', 'tls', 'reset', 'protocol', 'other'])(
    'a missing response (%s) uses up an attempt',
    (failure) => {
      const verdict = { outcome: 'retry', countsAsAttempt: true, status: null, failure, retryAfterMs: null };
      expect(classify(failed(failure), nowMs)).toEqual(verdict);
    },
  );

  test('uses up no attempt for a local failure', () => {
    expect(classify(failed('local'), nowMs)).toMatchObject({
      outcome: 'retry',
      countsAsAttempt: false,
      failure: 'local',
    });
  });
});

describe('retry-after', () => {
  const inTwoMinutes = new Date(nowMs + 120_000);
  test.each<[string, number | null]>([
    ['0', 0],
    ['120', 120_000],
    [' 120 ', 120_000],
    ['86400', dayMs],
    ['86401', dayMs],
    ['9'.repeat(400), dayMs],
    [inTwoMinutes.toUTCString(), 120_000],
    ['Saturday, 21-Nov-26 12:02:00 GMT', 120_000],
    ['Sat Nov 21 12:02:00 2026', 120_000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
    ['Sat, 01 Jan 2028 00:00:00 GMT', dayMs],
    ['', null],
    ['-1', null],
    ['1.5', null],
    ['120, 120', null],
    ['soon', null],
    ['2026-11-21T12:02:00Z', null],
    ['Sat, 99 Nov 2026 12:02:00 GMT', null],
  ])('%s is parsed as %s ms', (value, waitMs) => {
    expect(parseRetryAfter(value, nowMs)).toBe(waitMs);
  });

  test('requests no wait if the header is missing', () => {
    expect(parseRetryAfter(undefined, nowMs)).toBeNull();
    expect(parseRetryAfter(null, nowMs)).toBeNull();
  });

  test('gives null or a wait of 0 to 24 h for any value', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.integer().map(String),
          fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
        ),
        (value) => {
          const waitMs = parseRetryAfter(value, nowMs);
          if (waitMs !== null) expect(waitMs >= 0 && waitMs <= dayMs).toBe(true);
        },
      ),
    );
  });
});
