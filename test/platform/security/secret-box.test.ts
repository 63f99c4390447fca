import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSecretBox } from '../../../src/platform/security/secret-box.ts';

const box = createSecretBox(Buffer.alloc(32, 1));

describe('a sealed secret', () => {
  test('opens to the same text in its own context', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (plain, context) => {
        expect(box.open(box.seal(plain, context), context)).toBe(plain);
      }),
    );
  });

  test('does not open after it is moved to another row', () => {
    const sealed = box.seal('whsec_x', 'endpoint:1');
    expect(() => box.open(sealed, 'endpoint:2')).toThrow('cannot be opened');
    expect(() => box.open(sealed, '')).toThrow('cannot be opened');
  });

  test('does not open if it was sealed with another key', () => {
    const other = createSecretBox(randomBytes(32));
    expect(() => other.open(box.seal('whsec_x', 'a'), 'a')).toThrow('cannot be opened');
  });

  test('does not open if any single bit is changed', () => {
    const sealed = box.seal('whsec_abcdefgh', 'a');
    fc.assert(
      fc.property(fc.nat(sealed.length * 8 - 1), (bit) => {
        const altered = Buffer.from(sealed);
        altered[bit >> 3] = (altered[bit >> 3] as number) ^ (1 << (bit & 7));
        expect(() => box.open(altered, 'a')).toThrow();
      }),
      { numRuns: 500 },
    );
  });

  test('does not open if it is truncated or extended', () => {
    const sealed = box.seal('whsec_abcdefgh', 'a');
    for (let length = 0; length < sealed.length; length++)
      expect(() => box.open(sealed.subarray(0, length), 'a')).toThrow();
    expect(() => box.open(Buffer.concat([sealed, Buffer.from([0])]), 'a')).toThrow();
  });

  test('differs for equal texts, reveals nothing of the text, and starts with its version', () => {
    const [first, two] = [box.seal('whsec_same', 'a'), box.seal('whsec_same', 'a')];
    expect(first.equals(two)).toBe(false);
    expect(first[0]).toBe(1);
    expect(first).toHaveLength(1 + 12 + 16 + 'whsec_same'.length);
    expect(first.includes('whsec')).toBe(false);
  });

  test('a key of another length is rejected immediately', () => {
    expect(() => createSecretBox(Buffer.alloc(16))).toThrow('32 bytes');
  });
});
