import fc from 'fast-check';
import { validate, version } from 'uuid';
import { describe, expect, test } from 'vitest';
import { dayMs, dayOf } from '../../../src/platform/lib/time.ts';
import {
  dayOfUuid7,
  firstUuid7At,
  isUuid7,
  newUuid7,
  readUuid,
  timeOfUuid7,
  writeUuid,
} from '../../../src/platform/lib/uuid7.ts';

const times = fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2300, 0) });

describe('a session ID', () => {
  test('is a UUIDv7 that contains its time to the millisecond', () => {
    fc.assert(
      fc.property(times, (timeMs) => {
        const id = newUuid7(timeMs);
        expect(validate(id) && version(id)).toBe(7);
        expect(isUuid7(id)).toBe(true);
        expect(timeOfUuid7(id)).toBe(timeMs);
      }),
    );
  });

  test('is never repeated, even among 100,000 IDs of one millisecond', () => {
    const ids = Array.from({ length: 100_000 }, () => newUuid7(1_800_000_000_000));
    expect(new Set(ids).size).toBe(100_000);
    expect(new Set(ids.map((id) => id.slice(-12))).size).toBeGreaterThan(99_990);
  });

  test('is never below the lowest ID of its time, including times before 1970', () => {
    expect(firstUuid7At(-59_999)).toBe('00000000-0000-7000-8000-000000000000');
    expect(firstUuid7At(0)).toBe('00000000-0000-7000-8000-000000000000');
    fc.assert(fc.property(times, (timeMs) => firstUuid7At(timeMs) <= newUuid7(timeMs)));
  });

  test('sorts by its time', () => {
    fc.assert(
      fc.property(times, fc.integer({ min: 1, max: 10 * dayMs }), (timeMs, laterMs) => {
        expect(newUuid7(timeMs) < newUuid7(timeMs + laterMs)).toBe(true);
      }),
    );
  });

  test('is recognised in its canonical form only', () => {
    const id = newUuid7(1_800_000_000_000);
    const others = [
      id.toUpperCase(),
      id.replaceAll('-', ''),
      ` ${id}`,
      `${id}\n`,
      id.replace('-7', '-4'),
      id.slice(1),
      `${id}0`,
      '',
    ];
    for (const other of others) expect(isUuid7(other), other).toBe(false);
    expect(isUuid7(`${id.slice(0, 19)}c${id.slice(20)}`)).toBe(false); // a variant that is none of ours
  });

  test('survives conversion to 16 bytes at any offset of a buffer', () => {
    fc.assert(
      fc.property(times, fc.nat(32), (timeMs, offset) => {
        const id = newUuid7(timeMs);
        const bytes = Buffer.alloc(48, 0xee);
        writeUuid(id, bytes, offset);
        expect(readUuid(bytes, offset)).toBe(id);
        expect([...bytes.subarray(0, offset), ...bytes.subarray(offset + 16)].every((byte) => byte === 0xee)).toBe(
          true,
        );
      }),
    );
  });
});

describe('the day of a session', () => {
  test('changes at midnight UTC, to the millisecond', () => {
    const midnight = Date.UTC(2026, 10, 22);
    expect(dayOfUuid7(newUuid7(midnight - 1))).toBe('2026-11-21');
    expect(dayOfUuid7(newUuid7(midnight))).toBe('2026-11-22');
    expect(dayOfUuid7(newUuid7(midnight - 1))).toBe('2026-11-21');
    expect(dayOf(Date.UTC(2028, 1, 29, 23, 59, 59, 999))).toBe('2028-02-29');
  });

  test('is the same on every call, in any order of sessions', () => {
    fc.assert(
      fc.property(fc.array(times, { minLength: 1, maxLength: 20 }), (list) => {
        for (const timeMs of list)
          expect(dayOfUuid7(newUuid7(timeMs))).toBe(new Date(timeMs).toISOString().slice(0, 10));
      }),
    );
  });
});
