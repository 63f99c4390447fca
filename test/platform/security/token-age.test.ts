import { describe, expect, test } from 'vitest';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { checkToken } from '../../../src/platform/security/tracking-token.ts';

const t = Date.UTC(2026, 0, 31, 23, 59, 59, 999);
const hourMs = 3_600_000;
const minuteMs = 60_000;
const claims = { publisherId: 1, sessionId: newUuid7(t), offerId: 2, campaignId: 3, position: 1, dev: false };
const uses = {
  beacon: { maxAgeMs: 24 * hourMs, acceptsQrCode: false },
  click: { maxAgeMs: 30 * 24 * hourMs, acceptsQrCode: true },
};
const accepted = (nowMs: number, sessionId: string | null = claims.sessionId) =>
  Object.entries(uses).flatMap(([name, use]) => (checkToken({ ...claims, sessionId }, nowMs, use) ? [name] : []));

describe('the age of a token', () => {
  test('may reach the maximum of its purpose, to the millisecond', () => {
    expect(accepted(t)).toEqual(['beacon', 'click']);
    expect(accepted(t + 24 * hourMs)).toEqual(['beacon', 'click']);
    expect(accepted(t + 24 * hourMs + 1)).toEqual(['click']);
    expect(accepted(t + 30 * 24 * hourMs)).toEqual(['click']);
    expect(accepted(t + 30 * 24 * hourMs + 1)).toEqual([]);
  });

  test('may be up to 5 minutes in the future to allow for clock skew', () => {
    expect(accepted(t - 5 * minuteMs)).toEqual(['beacon', 'click']);
    expect(accepted(t - 5 * minuteMs - 1)).toEqual([]);
  });

  test('is irrelevant for a QR code, which is valid only where QR codes are accepted', () => {
    expect(accepted(t, null)).toEqual(['click']);
    expect(accepted(t + 3650 * 24 * hourMs, null)).toEqual(['click']);
  });
});
