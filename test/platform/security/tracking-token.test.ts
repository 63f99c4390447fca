import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { createSigner, createTokenCodec, type TokenClaims } from '../../../src/platform/security/tracking-token.ts';

const oldKey = { id: 1, secret: 'an-old-secret-of-more-than-32-characters' };
const newKey = { id: 2, secret: 'a-new-secret-of-more-than-32-characters!' };
const codecOf = (...keys: { id: number; secret: string }[]) => createTokenCodec(createSigner(keys, 'tracking-token'));

const id = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const claims: fc.Arbitrary<TokenClaims> = fc.record({
  publisherId: id,
  sessionId: fc.option(fc.integer({ min: 1, max: 2 ** 47 }).map(newUuid7)),
  offerId: id,
  campaignId: id,
  position: fc.integer({ min: 0, max: 255 }),
  dev: fc.boolean(),
});

function flipBit(text: string, bit: number): string {
  const bytes = Buffer.from(text, 'base64url');
  bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
  return bytes.toString('base64url');
}

describe('a tracking token', () => {
  const codec = codecOf(oldKey);

  test('decodes to exactly the values it was made from', () => {
    fc.assert(
      fc.property(claims, (tokenClaims) => void expect(codec.read(codec.mint(tokenClaims))).toEqual(tokenClaims)),
    );
  });

  test('has 64 characters that need no escaping in a URL', () => {
    fc.assert(
      fc.property(claims, (tokenClaims) => void expect(codec.mint(tokenClaims)).toMatch(/^[A-Za-z0-9_-]{64}$/)),
    );
  });

  test('is rejected when any single bit is changed', () => {
    fc.assert(
      fc.property(claims, (tokenClaims) => {
        const token = codec.mint(tokenClaims);
        for (let bit = 0; bit < 48 * 8; bit++) expect(codec.read(flipBit(token, bit))).toBeNull();
      }),
      { numRuns: 20 },
    );
  });

  test('is rejected when any single character is replaced', () => {
    fc.assert(
      fc.property(
        claims,
        fc.nat(63),
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
        (tokenClaims, at, character) => {
          const token = codec.mint(tokenClaims);
          const changed = token.slice(0, at) + character + token.slice(at + 1);
          expect(codec.read(changed) === null).toBe(changed !== token);
        },
      ),
    );
  });

  test('is rejected when it is truncated or extended', () => {
    fc.assert(
      fc.property(claims, fc.string({ minLength: 1, maxLength: 80 }), (tokenClaims, more) => {
        const token = codec.mint(tokenClaims);
        for (let length = 0; length < token.length; length++) expect(codec.read(token.slice(0, length))).toBeNull();
        expect(codec.read(token + more)).toBeNull();
        expect(codec.read(more + token)).toBeNull();
      }),
      { numRuns: 20 },
    );
  });

  test('cannot be forged', () => {
    const text = fc
      .uint8Array({ minLength: 46, maxLength: 46 })
      .map((bytes) => Buffer.from([1, oldKey.id, ...bytes]).toString('base64url'));
    fc.assert(fc.property(text, (invented) => void expect(codec.read(invented)).toBeNull()));
  });

  test('is rejected if it was signed for a different purpose', () => {
    const other = createTokenCodec(createSigner([oldKey], 'click-id'));
    fc.assert(fc.property(claims, (tokenClaims) => void expect(codec.read(other.mint(tokenClaims))).toBeNull()));
  });

  test('survives a key rotation while its key is configured, and is rejected afterwards', () => {
    fc.assert(
      fc.property(claims, (tokenClaims) => {
        const token = codecOf(oldKey).mint(tokenClaims);
        expect(codecOf(newKey, oldKey).read(token)).toEqual(tokenClaims);
        expect(codecOf(newKey).read(token)).toBeNull();
      }),
    );
  });

  test('is signed with the first key if it is created during a rotation', () => {
    fc.assert(
      fc.property(claims, (tokenClaims) => {
        const token = codecOf(newKey, oldKey).mint(tokenClaims);
        expect(codecOf(newKey).read(token)).toEqual(tokenClaims);
        expect(codecOf(oldKey).read(token)).toBeNull();
      }),
    );
  });

  test('is rejected if the secret of its key ID was changed', () => {
    const token = codecOf(oldKey).mint({
      publisherId: 1,
      sessionId: null,
      offerId: 1,
      campaignId: 1,
      position: 0,
      dev: false,
    });
    expect(codecOf({ ...newKey, id: oldKey.id }).read(token)).toBeNull();
  });
});
