import { expect, test } from 'vitest';
import { alarms, randomFrom, runWorld, sampleOf } from '../../../bench/experiments/worlds.ts';
import { probabilitiesToBeBest, sampleRatio, usersNeeded } from '../../../src/experiments/statistics/checks.ts';
import { alwaysValidWidth, compare } from '../../../src/experiments/statistics/compare.ts';
import { addMoments, linearised, momentsOf, noMoments, ratioOf } from '../../../src/experiments/statistics/moments.ts';

/*
 * Number of simulations per case. Their seeds are fixed, so all runs give the same results. npm run bench:experiments
 * runs more simulations.
 */
const runs = 150;
const world = { days: 14, usersPerDay: 60, lift: 0, explained: 0 };
const runAll = (change: Partial<typeof world>) =>
  Array.from({ length: runs }, (_, at) => runWorld({ ...world, ...change }, 77_000 + at));

test('daily checks find a false winner in at most 5 of 100 experiments without an effect', () => {
  expect(runAll({}).filter((run) => run.wasSignificant).length / runs).toBeLessThanOrEqual(0.05);
});

test('the interval contains the true effect on every day in at least 95 of 100 experiments', () => {
  expect(runAll({ lift: 0.2 }).filter((run) => run.alwaysCovered).length / runs).toBeGreaterThanOrEqual(0.95);
});

test('a large effect is found', () => {
  expect(runAll({ lift: 0.5 }).filter((run) => run.wasSignificant).length / runs).toBeGreaterThan(0.95);
});

test('history that explains half of the variance saves more than 20 of 100 users', () => {
  const explained = runAll({ explained: 0.5 }).reduce((sum, run) => sum + run.explained, 0) / runs;
  expect(explained).toBeGreaterThan(0.2);
});

test('the sample ratio check detects 1% of lost users, with almost no false alarms', () => {
  const countAlarms = (lost: number) =>
    Array.from({ length: 300 }, (_, at) => alarms({ days: 28, usersPerDay: 75_000, lost }, at)).filter(Boolean).length;
  expect(countAlarms(0.01)).toBeGreaterThan(285);
  expect(countAlarms(0)).toBeLessThanOrEqual(1);
  expect(sampleRatio([{ users: 0, share: 0.5 }]).isWrong).toBe(false);
});

test('the variance of a ratio matches that of many simulated experiments', () => {
  const ratios = Array.from({ length: 400 }, (_, at) => ratioOf(sampleOf(300, at, { lift: 0, explained: 0 })));
  const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
  const variance = ratios.reduce((sum, ratio) => sum + (ratio - mean) ** 2, 0) / (ratios.length - 1);
  const large = sampleOf(100_000, 9, { lift: 0, explained: 0 });
  expect(linearised(large).z / 300 / variance).toBeGreaterThan(0.8);
  expect(linearised(large).z / 300 / variance).toBeLessThan(1.25);
});

test('two equal arms are equally likely to be best, and a better one usually is', () => {
  const random = randomFrom(3);
  const arm = (mean: number) =>
    Array.from({ length: 500 }).reduce<typeof noMoments>(
      (sum) => addMoments(sum, momentsOf(1, mean + random(), 0)),
      noMoments,
    );
  const same = arm(1);
  const [first = 0] = probabilitiesToBeBest([same, same]);
  expect(Math.abs(first - 0.5)).toBeLessThan(0.02);
  expect(probabilitiesToBeBest([arm(1), arm(1.2)])[1]).toBeGreaterThan(0.99);
});

test('probabilities depend only on the totals, and are missing without users', () => {
  const arm = (n: number, y: number) => ({
    n,
    x: 2 * n,
    y,
    xx: 5 * n,
    yy: 3 * y,
    xy: 2.2 * y,
    b: 0,
    bb: 0,
    xb: 0,
    yb: 0,
  });
  const arms = [arm(1000, 200), arm(1000, 210), arm(900, 200), arm(1100, 190), arm(1000, 215), noMoments];
  expect(probabilitiesToBeBest(arms.slice(0, 2))[0]).toBeLessThan(0.5);
  for (let turn = 0; turn < 2; turn += 1)
    expect(probabilitiesToBeBest(arms)).toEqual([0.1075, 0.2087, 0.4072, 0.0089, 0.2677, 0]);
});

test('the number of users needed grows with the inverse square of the effect, and is infinite without revenue', () => {
  const plan = { mean: 1, variance: 4, lift: 0.1, shares: [0.5, 0.5] as const, alpha: 0.05 };
  const growth = usersNeeded({ ...plan, lift: 0.05 }) / usersNeeded(plan);
  expect(growth).toBeGreaterThan(3.5);
  expect(growth).toBeLessThan(5);
  expect(usersNeeded({ ...plan, mean: 0 })).toBe(Number.POSITIVE_INFINITY);
});

test('there is no interval for too few users, and no significant difference for arms without variance', () => {
  const many = (users: number) =>
    Array.from({ length: users }).reduce<typeof noMoments>((sum) => addMoments(sum, momentsOf(1, 0, 0)), noMoments);
  expect(compare(many(99), many(200), { alpha: 0.05 })).toBeNull();
  expect(compare(many(200), many(200), { alpha: 0.05 })).toMatchObject({ isSignificant: false, lift: null });
});

test('an arm without revenue is significantly different, with a plausible lift, whatever its history', () => {
  const arm = (earns: (at: number) => number) =>
    Array.from({ length: 900 }).reduce<typeof noMoments>(
      (sum, _, at) => addMoments(sum, momentsOf(1, earns(at), (at * 7) % 11)),
      noMoments,
    );
  const comparison = compare(
    arm((at) => 1 + ((at * 7) % 11) / 100 + (at % 3) / 10),
    arm((at) => (at === 0 ? 1 : 0)),
    {
      alpha: 0.05,
    },
  );
  expect(comparison?.isSignificant).toBe(true);
  expect(comparison?.lift?.estimate).toBeCloseTo(-1, 1);
  expect(comparison?.lift?.high).toBeLessThan(-0.9);
});

test('the interval is wider than for a single analysis, and widens slowly', () => {
  expect(alwaysValidWidth(10_000, 0.05)).toBeGreaterThan(1.96);
  expect(alwaysValidWidth(1_000_000, 0.05)).toBeLessThan(4);
});
