import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSigner, macLength } from '../../../src/platform/security/tracking-token.ts';

const first = { id: 1, secret: 'first-secret-'.repeat(3) };
const second = { id: 200, secret: 'second-secret-'.repeat(3) };
const message = fc.uint8Array({ maxLength: 256 }).map((bytes) => Buffer.from(bytes));

describe('a signature', () => {
  test('is HMAC-SHA256 with the key of its purpose, truncated to 16 bytes', () => {
    const signer = createSigner([first], 'tracking-token');
    const key = createHmac('sha256', first.secret).update('perkwire:tracking-token').digest();
    fc.assert(
      fc.property(message, (bytes) => {
        const expected = createHmac('sha256', key).update(bytes).digest().subarray(0, macLength);
        expect(signer.sign(bytes)).toEqual(expected);
      }),
    );
  });

  test('verifies for the bytes that were signed', () => {
    const signer = createSigner([first], 'tracking-token');
    fc.assert(
      fc.property(message, (bytes) => {
        expect(signer.verify(1, bytes, signer.sign(bytes))).toBe(true);
      }),
    );
  });

  test('is rejected after any single bit of the message or the signature is flipped', () => {
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

  test('is rejected when it is truncated, extended or empty', () => {
    const signer = createSigner([first], 'tracking-token');
    const bytes = Buffer.from('claims');
    const mac = signer.sign(bytes);
    for (const wrongMac of [Buffer.alloc(0), mac.subarray(0, 15), Buffer.concat([mac, Buffer.alloc(1)])]) {
      expect(signer.verify(1, bytes, wrongMac)).toBe(false);
    }
  });

  test('is not changed by later signatures', () => {
    const signer = createSigner([first], 'tracking-token');
    const mac = signer.sign(Buffer.from('one'));
    const copy = Buffer.from(mac);
    for (let i = 0; i < 100; i++) signer.sign(randomBytes(i));
    expect(mac).toEqual(copy);
  });

  test('never verifies for a different purpose', () => {
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

describe('key rotation', () => {
  const bytes = Buffer.from('claims');

  test('signs with the first key', () => {
    expect(createSigner([second, first], 'p').keyId).toBe(200);
    expect(createSigner([second, first], 'p').sign(bytes)).toEqual(createSigner([second], 'p').sign(bytes));
  });

  test('verifies signatures of the old key only while it is listed', () => {
    const old = createSigner([first], 'p');
    expect(createSigner([second, first], 'p').verify(old.keyId, bytes, old.sign(bytes))).toBe(true);
    expect(createSigner([second], 'p').verify(old.keyId, bytes, old.sign(bytes))).toBe(false);
  });

  test('rejects a signature of one key under the ID of the other', () => {
    const both = createSigner([second, first], 'p');
    expect(both.verify(first.id, bytes, both.sign(bytes))).toBe(false);
    expect(both.verify(7, bytes, both.sign(bytes))).toBe(false);
  });

  test('prevents a process without a key from starting', () => {
    expect(() => createSigner([], 'p')).toThrow('at least one key');
  });
});
