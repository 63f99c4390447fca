import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createWalletLinks, openPurpose, removePurpose } from '../../../src/perks/wallet/links.ts';
import { createSigner } from '../../../src/platform/security/tracking-token.ts';

const keys = [{ id: 1, secret: 'one-'.repeat(10) }];
const open = createWalletLinks(createSigner(keys, openPurpose));
const remove = createWalletLinks(createSigner(keys, removePurpose));
const nowMs = Date.UTC(2026, 10, 21);

const claims = fc.record({
  publisherId: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  userKey: fc.uuid(),
  offerId: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  expiresS: fc.integer({ min: nowMs / 1000 + 1, max: 2 ** 33 }),
});

test('a link contains its claims, and is invalid for another purpose or with another key', () => {
  const foreign = createWalletLinks(createSigner([{ id: 1, secret: 'two-'.repeat(10) }], openPurpose));
  fc.assert(
    fc.property(claims, (claimsOfLink) => {
      const link = open.mint(claimsOfLink);
      expect(link).toMatch(/^[A-Za-z0-9_-]{63}$/);
      expect(open.read(link, nowMs)).toEqual(claimsOfLink);
      expect(remove.read(link, nowMs)).toBeNull();
      expect(foreign.read(link, nowMs)).toBeNull();
    }),
  );
});

test('a change to any character is detected, even in the unused bits of the last one', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  fc.assert(
    fc.property(claims, fc.nat(62), fc.constantFrom(...alphabet), (claimsOfLink, at, character) => {
      const link = open.mint(claimsOfLink);
      fc.pre(link[at] !== character);
      expect(open.read(link.slice(0, at) + character + link.slice(at + 1), nowMs)).toBeNull();
    }),
    { numRuns: 1000 },
  );
});

test('a link expires after its last second, and only text is accepted as a link', () => {
  const link = open.mint({
    publisherId: 1,
    userKey: '00000000-0000-0000-0000-000000000001',
    offerId: 0,
    expiresS: 1000,
  });
  expect(open.read(link, 999_999)).not.toBeNull();
  expect(open.read(link, 1_000_000)).toBeNull();
  for (const nonsense of [undefined, null, 1, [link], { t: link }, '', `${link}A`])
    expect(open.read(nonsense, 0)).toBeNull();
});
