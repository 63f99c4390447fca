import { expect, test } from 'vitest';
import { type DisturbedWorld, disturbedWorlds, type Measured, measure } from '../../bench/money/disturbed-worlds.ts';
import { engine } from '../../bench/money/policies.ts';
import { plainThompson } from '../../bench/money/random/policies.ts';
import { getOrInsert } from '../../src/platform/lib/get-or-insert.ts';

/**
 * Runs the worlds of bench/results/disturbed.md with a few seeds each. The limits hold for any seed. That document
 * lists the goals, and how far each of them is from being reached.
 */
const [seeds, answers] = [[1, 2, 3], 20_000];

const measured = new Map<string, Measured>();

/** Simulates each world only once. */
function played(name: string, seed: number, create = engine as Parameters<typeof measure>[1]): Measured {
  return getOrInsert(measured, `${name} ${seed} ${create.name}`, () => measure(worldOf(name, seed), create, seed));
}

const worldOf = (name: string, seed: number): DisturbedWorld =>
  disturbedWorlds(seed, answers).find((world) => world.name === name) as DisturbedWorld;

const meanOf = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const valuesOf = (name: string): number[] => seeds.map((seed) => played(name, seed).value);

test.each(['clicks after 0.15 s', 'clicks after 1 s'])('fast clicks do not hide a good offer: %s', (name) => {
  expect(Math.min(...valuesOf(name))).toBeGreaterThan(0.88);
  expect(meanOf(valuesOf(name))).toBeGreaterThan(0.95);
});

test.each(['events lost for 10 s', 'events lost for 10 s, clicks after 0.15 s', 'events delayed for 10 s'])(
  'lost or late clicks do no lasting harm: %s',
  (name) => {
    const undisturbed = (seed: number): number => {
      const { isLost: _, knownAtMs: _known, ...world } = worldOf(name, seed);
      return getOrInsert(measured, `${world.clickDelayS(0.5)} ${seed}`, () => measure(world, engine, seed)).recovered;
    };
    expect(Math.min(...valuesOf(name))).toBeGreaterThan(0.85);
    expect(meanOf(seeds.map((seed) => played(name, seed).recovered / undisturbed(seed)))).toBeGreaterThan(0.95);
  },
);

test('a learner that pauses for a minute continues where it stopped', () => {
  expect(Math.min(...valuesOf('learner paused for 60 s'))).toBeGreaterThan(0.95);
});

test('a new offer that is 25% better comes first in most responses after 2,000 impressions of its own', () => {
  const name = 'a new offer, 25% better';
  expect(Math.min(...[1, 2].map((seed) => played(name, seed).bestFirst))).toBeGreaterThan(0.9);
});

test('offers paid by conversion with late feedback earn more than half of the possible revenue', () => {
  expect(Math.min(...valuesOf('CPA offers, events 10 s late'))).toBeGreaterThan(0.85);
});

test.each(['no attributes', '40 irrelevant attributes'])(
  'attributes without an effect cost at most a few points compared with plain Thompson sampling: %s',
  (name) => {
    const own = [1, 2].map((seed) => played(name, seed).value);
    const plain = [1, 2].map((seed) => played(name, seed, plainThompson).value);
    expect(meanOf(own)).toBeGreaterThan(meanOf(plain) - 0.02);
  },
);
