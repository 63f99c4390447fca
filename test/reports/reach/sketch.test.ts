import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  addImpressions,
  countUsers,
  createSketch,
  encodeSketch,
  hashOfKey,
  maxUsers,
  mergeEncoded,
  mergeSketch,
  type Sketch,
  shareOf,
  usersOf,
} from '../../../src/reports/reach/sketch.ts';

/** Keyed hash of a user, like the hash of a user key. */
const hashes = Array.from({ length: 100_000 }, (_, user) =>
  createHmac('sha256', 'a pepper of this test').update(String(user)).digest().readUIntBE(11, 5),
);
const hashOf = (user: number): number => hashes[user] as number;

function sketchOf(from: number, to: number): Sketch {
  const sketch = createSketch();
  for (let user = from; user < to; user += 1) addImpressions(sketch, hashOf(user), 1 + (user % 3));
  return sketch;
}

const errorOf = (estimate: number, truth: number): number => Math.abs(estimate - truth) / truth;

test('up to 32,768 users, the number of users is exact', () => {
  for (const users of [0, 1, 1000, maxUsers]) {
    const sketch = sketchOf(0, users);
    expect([countUsers(sketch), shareOf(sketch)]).toEqual([users, 1]);
  }
});

test('the number of 100,000 users is within 2%, and the sketch takes at most 262 kB', () => {
  const sketch = sketchOf(0, 100_000);
  expect(errorOf(countUsers(sketch), 100_000)).toBeLessThan(0.02);
  expect(usersOf(sketch).size).toBe(maxUsers);
  expect(encodeSketch(sketch)).toHaveLength(7 + 8 * maxUsers);
});

test('two sketches merged in either order equal the sketch of all users, and count nobody twice', () => {
  const parts = [sketchOf(0, 60_000), sketchOf(30_000, 90_000), sketchOf(85_000, 100_000)];
  const whole = createSketch();
  for (let user = 0; user < 100_000; user += 1) {
    const times = Number(user < 60_000) + Number(user >= 30_000 && user < 90_000) + Number(user >= 85_000);
    addImpressions(whole, hashOf(user), times * (1 + (user % 3)));
  }
  for (const order of [parts, parts.toReversed()]) {
    const merged = createSketch();
    for (const part of order) mergeEncoded(merged, encodeSketch(part));
    expect(encodeSketch(merged).equals(encodeSketch(whole))).toBe(true);
  }
  const inMemory = createSketch();
  for (const part of parts) mergeSketch(inMemory, part);
  expect(encodeSketch(inMemory).equals(encodeSketch(whole))).toBe(true);
});

test('a truncated sketch is a valid sketch with fewer users', () => {
  const bytes = encodeSketch(sketchOf(0, 100_000));
  const sketch = createSketch();
  mergeEncoded(sketch, bytes.subarray(0, 7 + 8 * 4000), bytes.length);
  expect(usersOf(sketch).size).toBe(3999); // the last one only gives the limit
  expect(errorOf(countUsers(sketch), 100_000)).toBeLessThan(0.06);
});

test('subtracting all impressions of a user removes the user', () => {
  const sketch = sketchOf(0, 50_000);
  const before = countUsers(sketch);
  const inSample = [...usersOf(sketch)];
  for (const [hash, impressions] of inSample.slice(0, 100)) addImpressions(sketch, hash, -impressions);
  const stored = createSketch();
  mergeEncoded(stored, encodeSketch(sketch));
  expect(inSample.slice(0, 100).filter(([hash]) => usersOf(stored).has(hash))).toEqual([]);
  expect(countUsers(stored)).toBeLessThan(before);
});

test('the hash is taken from the end of the user key, because all keys begin with the same bytes', () => {
  expect(hashOfKey('aabb0000-0000-0000-0000-00ffffffffff')).toBe(2 ** 40 - 1);
  expect(hashOfKey('aabb0000-0000-0000-0000-ff0000000001')).toBe(1);
});
