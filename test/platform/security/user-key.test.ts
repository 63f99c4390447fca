import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createUserKeys, pepperMark } from '../../../src/platform/security/user-key.ts';

const keys = createUserKeys('pepper-'.repeat(6));

test('a user has the same key in every process with the same pepper', () => {
  expect(createUserKeys('pepper-'.repeat(6)).of(1, 'user-1')).toBe(keys.of(1, 'user-1'));
  // Fixed expected value: an upgrade that changed the hash would make every user unknown.
  expect(keys.of(1, 'user-1')).toBe('dcb393b3-9460-9f33-6731-7de4496cae9b');
});

test('a person has different keys at different publishers, so that they cannot compare users', () => {
  const distinctKeys = new Set(Array.from({ length: 500 }, (_, publisherId) => keys.of(publisherId, 'user-1')));
  expect(distinctKeys.size).toBe(500);
});

test('another pepper produces other keys', () => {
  expect(createUserKeys('another-'.repeat(6)).of(1, 'user-1')).not.toBe(keys.of(1, 'user-1'));
});

test('during a rotation the key of the current pepper comes first, and a mark identifies the pepper', () => {
  const rotating = createUserKeys('another-'.repeat(6), ['pepper-'.repeat(6)]);
  const [present = '', earlier = ''] = rotating.allOf(1, 'user-1');
  expect([earlier, rotating.earlierOf(1, 'user-1')]).toEqual([keys.of(1, 'user-1'), [earlier]]);
  expect([rotating.isEarlier(present), rotating.isEarlier(earlier)]).toEqual([false, true]);
  expect(earlier.startsWith(pepperMark('pepper-'.repeat(6)))).toBe(true);
});

test('publisher 1 with user "2x" differs from publisher 12 with user "x"', () => {
  expect(keys.of(1, '2x')).not.toBe(keys.of(12, 'x'));
});

test('different identifiers have different keys, each a UUID that contains no part of the identifier', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (identifier, other) => {
      const key = keys.of(1, identifier);
      expect(key).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(key === keys.of(1, other)).toBe(identifier === other);
    }),
  );
});

test('a key is an HMAC-SHA256 with the pepper for all input lengths', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 200, unit: 'grapheme' }),
      fc.string({ maxLength: 2000, unit: 'grapheme' }),
      (pepper, id) => {
        const expected = createHmac('sha256', pepper).update(`7\0${id}`).digest('hex').slice(4, 32);
        const mark = pepperMark(pepper);
        expect(createUserKeys(pepper).of(7, id).replaceAll('-', '')).toBe(`${mark}${expected}`);
      },
    ),
  );
});

test('keys of alternating long and short identifiers do not affect each other', () => {
  const ids = ['a', 'b'.repeat(5000), 'c', 'd'.repeat(300), 'e'.repeat(5000), ''];
  for (const id of [...ids, ...ids]) {
    const expected = createHmac('sha256', 'pepper-'.repeat(6)).update(`1\0${id}`).digest('hex').slice(4, 32);
    expect(keys.of(1, id).replaceAll('-', '').slice(4)).toBe(expected);
  }
});
