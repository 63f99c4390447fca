import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSigner, macLength } from '../../../src/platform/security/tracking-token.ts';

const first = { id: 1, secret: 'first-secret-'.repeat(3) };
const second = { id: 200, secret: 'second-secret-'.repeat(3) };
const message = fc.uint8Array({ maxLength: 256 }).map((bytes) => Buffer.from(bytes));

describe('a signature', () => {
  test('is HMAC-SHA256 under a key of its purpose, cut to 16 bytes', () => {
    const signer = createSigner([first], 'tracking-token');
    const key = createHmac('sha256', first.secret).update('perkwire:tracking-token').digest();
    fc.assert(
      fc.property(message, (bytes) => {
        const expected = createHmac('sha256', key).update(bytes).digest().subarray(0, macLength);
        expect(signer.sign(bytes)).toEqual(expected);
      }),
    );
  });

  test('verifies for the bytes it was made for', () => {
    const signer = createSigner([first], 'tracking-token');
    fc.assert(
      fc.property(message, (bytes) => {
        expect(signer.verify(1, bytes, signer.sign(bytes))).toBe(true);
      }),
    );
  });

  test('is refused after any one bit of the message or of itself was flipped', () => {
    const signer = createSigner([first], 'tracking-token');
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 256 }), fc.nat(), (input, where) => {
        const bytes = Buffer.concat([input, signer.sign(Buffer.from(input))]);
        const bit = where % (bytes.length * 8);
        bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
        expect(signer.verify(1, bytes.subarray(0, input.length), bytes.subarray(input.length))).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  test('is refused when cut, lengthened or empty', () => {
    const signer = createSigner([first], 'tracking-token');
    const bytes = Buffer.from('claims');
    const mac = signer.sign(bytes);
    for (const wrongMac of [Buffer.alloc(0), mac.subarray(0, 15), Buffer.concat([mac, Buffer.alloc(1)])]) {
      expect(signer.verify(1, bytes, wrongMac)).toBe(false);
    }
  });

  test('is not changed by signing something else after it', () => {
    const signer = createSigner([first], 'tracking-token');
    const mac = signer.sign(Buffer.from('one'));
    const copy = Buffer.from(mac);
    for (let i = 0; i < 100; i++) signer.sign(randomBytes(i));
    expect(mac).toEqual(copy);
  });

  test('made for one purpose never verifies for another', () => {
    const purposes = ['tracking-token', 'payload-link', 'tracking-token2', ''];
    const bytes = Buffer.from('claims');
    for (const signedFor of purposes) {
      for (const used of purposes) {
        expect(createSigner([first], used).verify(1, bytes, createSigner([first], signedFor).sign(bytes))).toBe(
          signedFor === used,
        );
      }
    }
  });
});

describe('rotation', () => {
  const bytes = Buffer.from('claims');

  test('the first key signs', () => {
    expect(createSigner([second, first], 'p').keyId).toBe(200);
    expect(createSigner([second, first], 'p').sign(bytes)).toEqual(createSigner([second], 'p').sign(bytes));
  });

  test('what the old key signed still verifies while it is listed, and no longer after', () => {
    const old = createSigner([first], 'p');
    expect(createSigner([second, first], 'p').verify(old.keyId, bytes, old.sign(bytes))).toBe(true);
    expect(createSigner([second], 'p').verify(old.keyId, bytes, old.sign(bytes))).toBe(false);
  });

  test('a signature of one key does not verify under the id of the other', () => {
    const both = createSigner([second, first], 'p');
    expect(both.verify(first.id, bytes, both.sign(bytes))).toBe(false);
    expect(both.verify(7, bytes, both.sign(bytes))).toBe(false);
  });

  test('a process without a key does not start', () => {
    expect(() => createSigner([], 'p')).toThrow('at least one key');
  });
});
