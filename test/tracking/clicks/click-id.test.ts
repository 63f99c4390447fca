import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newUuid7 } from '../../../src/platform/lib/uuid7.ts';
import { createClickIdCodec } from '../../../src/tracking/clicks/click-id.ts';

const oldKey = { id: 7, secret: 'an-old-secret-of-more-than-32-characters' };
const newKey = { id: 8, secret: 'a-new-secret-of-more-than-32-characters!' };
const codecOf = (...keys: { id: number; secret: string }[]) => createClickIdCodec(keys);

const clicks = fc.record({
  sessionId: fc.integer({ min: 1, max: 2 ** 47 }).map(newUuid7),
  offerId: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
});

describe('a click ID', () => {
  const codec = codecOf(oldKey);

  test('refers to its click, and is the same for every repeat of the click', () => {
    fc.assert(
      fc.property(clicks, (click) => {
        expect(codec.read(codec.mint(click))).toEqual(click);
        expect(codec.mint(click)).toBe(codec.mint({ ...click }));
        expect(codec.mint(click)).toMatch(/^[A-Za-z0-9_-]{51}$/);
      }),
    );
  });

  test('has one spelling, so that any changed, missing or extra character is rejected', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    fc.assert(
      fc.property(clicks, fc.nat(50), (click, at) => {
        const clickId = codec.mint(click);
        for (const place of [at, clickId.length - 1]) {
          for (const character of alphabet) {
            const changed = clickId.slice(0, place) + character + clickId.slice(place + 1);
            expect(codec.read(changed) === null).toBe(changed !== clickId);
          }
        }
        for (let length = 0; length < clickId.length; length++) expect(codec.read(clickId.slice(0, length))).toBeNull();
        expect(codec.read(`${clickId}A`)).toBeNull();
      }),
      { numRuns: 20 },
    );
  });

  test('reveals nothing about its session, offer or time, since similar IDs give different texts', () => {
    fc.assert(
      fc.property(clicks, ({ sessionId, offerId }) => {
        const clickId = codec.mint({ sessionId, offerId });
        const bytes = Buffer.from(clickId, 'base64url').toString('hex');
        const id = sessionId.replaceAll('-', '');
        for (const part of [id.slice(0, 12), id.slice(12, 24), id.slice(20)]) expect(bytes).not.toContain(part);
        const neighbour = codec.mint({ sessionId, offerId: (offerId + 1) % 2 ** 32 });
        // The first 2 bytes, version and key ID, are equal. Of the other 36 bytes, a few are equal by chance.
        const pairs = [...Buffer.from(clickId, 'base64url')].map((byte, at) => [
          byte,
          Buffer.from(neighbour, 'base64url')[at],
        ]);
        expect(pairs.slice(2).filter(([byte, other]) => byte === other).length).toBeLessThan(8);
      }),
    );
  });

  test('survives a key rotation while its key is configured, and is rejected afterwards', () => {
    fc.assert(
      fc.property(clicks, (click) => {
        const clickId = codecOf(oldKey).mint(click);
        expect(codecOf(newKey, oldKey).read(clickId)).toEqual(click);
        expect(codecOf(newKey).read(clickId)).toBeNull();
      }),
    );
  });
});
