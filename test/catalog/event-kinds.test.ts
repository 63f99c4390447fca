import { expect, test } from 'vitest';
import { eventKinds, eventMetrics, kindsWith, rulesOf } from '../../src/catalog/event-kinds.ts';
import { capEvents } from '../../src/catalog/rules.ts';

const hourMs = 3_600_000;

test('accepts beacons for 24 hours and clicks for 30 days after the session', () => {
  const ages = Object.fromEntries(kindsWith('token').map((kind) => [kind, eventKinds[kind].token.maxAgeMs / hourMs]));
  expect(ages).toEqual({ impression: 24, click: 720, no_thanks: 24, close: 24, own: 24 });
});

test('accepts the token of a QR code for clicks only', () => {
  expect(kindsWith('token').filter((kind) => rulesOf(kind).token?.acceptsQrCode)).toEqual(['click']);
});

test('applies frequency caps to impressions, clicks, "no thanks" and conversions', () => {
  expect(capEvents).toEqual(['impression', 'click', 'no_thanks', 'conversion']);
});

test('gives every kind its own metric and URL', () => {
  const paths = kindsWith('beacon').map((kind) => eventKinds[kind].beacon.path);
  for (const values of [eventMetrics, paths]) expect(new Set(values).size).toBe(values.length);
});
