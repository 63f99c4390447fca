import { expect, test } from 'vitest';
import { isPrefetch } from '../../../src/tracking/verify-token.ts';

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
])('headers %j indicate a prefetch: %j', (headers, expected) => {
  expect(isPrefetch(headers)).toBe(expected);
});
