import { describe, expect, test } from 'vitest';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { checkToken, type EventKind } from '../../../src/platform/security/check-tracking-token.ts';
import { createBotCheck } from '../../../src/tracking/beacons/bots.ts';
import { isPrefetch } from '../../../src/tracking/beacons/prefetch.ts';

const t = Date.UTC(2026, 0, 31, 23, 59, 59, 999);
const hourMs = 3_600_000;
const minuteMs = 60_000;
const claims = { publisherId: 1, sessionId: newUuid7(t), offerId: 2, campaignId: 3, position: 1, dev: false };
const allKinds: EventKind[] = ['impression', 'close', 'no_thanks', 'click'];
const accepted = (nowMs: number, sessionId: string | null = claims.sessionId) =>
  allKinds.filter((kind) => checkToken({ ...claims, sessionId }, nowMs, kind));

describe('the age of a token', () => {
  test('may be up to 24 h for impressions and beacons, and 30 days for clicks, to the millisecond', () => {
    expect(accepted(t)).toEqual(allKinds);
    expect(accepted(t + 24 * hourMs)).toEqual(allKinds);
    expect(accepted(t + 24 * hourMs + 1)).toEqual(['click']);
    expect(accepted(t + 30 * 24 * hourMs)).toEqual(['click']);
    expect(accepted(t + 30 * 24 * hourMs + 1)).toEqual([]);
  });

  test('may lie 5 minutes in the future, for clocks that differ, and no more', () => {
    expect(accepted(t - 5 * minuteMs)).toEqual(allKinds);
    expect(accepted(t - 5 * minuteMs - 1)).toEqual([]);
  });

  test('does not matter for a QR code, which can only be clicked', () => {
    expect(accepted(t, null)).toEqual(['click']);
    expect(accepted(t + 3650 * 24 * hourMs, null)).toEqual(['click']);
  });
});

describe('a bot', () => {
  const isBot = createBotCheck();
  const safari =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';
  const googlebot = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';

  test('is known by its user agent, at first sight and again', () => {
    for (const _ of [1, 2]) {
      expect(isBot(googlebot)).toBe(true);
      expect(isBot(safari)).toBe(false);
    }
  });

  test('is not seen in a missing or empty user agent', () => {
    expect(isBot(undefined)).toBe(false);
    expect(isBot('')).toBe(false);
  });

  test('is known behind a very long user agent', () => {
    expect(isBot(googlebot + 'x'.repeat(10_000))).toBe(true);
    expect(isBot(safari + 'x'.repeat(10_000))).toBe(false);
  });
});

test.each([
  [{ 'sec-purpose': 'prefetch' }, true],
  [{ 'sec-purpose': 'prefetch;prerender' }, true],
  [{ 'sec-purpose': 'prerender' }, true],
  [{ purpose: 'prefetch' }, true],
  [{ 'sec-purpose': 'other', purpose: 'Prefetch' }, true],
  [{ 'x-moz': 'prefetch' }, true],
  [{ purpose: 'preview' }, true],
  [{ purpose: 'navigate' }, false],
  [{ 'user-agent': 'prefetch' }, false],
  [{}, false],
])('headers %j are a prefetch: %j', (headers, expected) => {
  expect(isPrefetch(headers)).toBe(expected);
});
