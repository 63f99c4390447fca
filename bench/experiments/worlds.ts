import { sampleRatio } from '../../src/experiments/statistics/checks.ts';
import { compare } from '../../src/experiments/statistics/compare.ts';
import { addMoments, type Moments, noMoments } from '../../src/experiments/statistics/moments.ts';

/** Random numbers from a seed: the same worlds in every run (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const normalFrom = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** A world of users who come for the first time, day by day. */
export type World = {
  days: number;
  /** Of each arm. */
  usersPerDay: number;
  /** Of the arm: 0.1 is 10 % more revenue. */
  lift: number;
  /** How much of the variance the history explains. */
  explained: number;
};

/** One user: one to three sessions; some buy, and what they buy is skewed. */
function addUser(into: Moments, random: () => number, { lift, explained }: Pick<World, 'lift' | 'explained'>): Moments {
  const x = 1 + Math.floor(random() ** 2 * 3);
  // Both of mean 1: what stays the same in a user, and what does not.
  const spread = 0.8;
  const value = (own: number): number => Math.exp(spread * own - (spread * spread) / 2);
  const taste = normalFrom(random);
  const habit = value(taste);
  const mixed = explained * habit + (1 - explained) * value(normalFrom(random));
  const y = x * mixed * (1 + lift);
  const b = explained === 0 ? 0 : habit;
  return {
    ...{ n: into.n + 1, x: into.x + x, y: into.y + y, b: into.b + b },
    ...{ xx: into.xx + x * x, yy: into.yy + y * y, bb: into.bb + b * b },
    ...{ xy: into.xy + x * y, xb: into.xb + x * b, yb: into.yb + y * b },
  };
}

export type Run = {
  /** On any day. */
  wasSignificant: boolean;
  /** The interval that may be looked at always held the true difference, on every day. */
  alwaysCovered: boolean;
  /** The interval of the last day alone, by the normal distribution, did. */
  coveredAtTheEnd: boolean;
  explained: number;
};

const normalWidth = (): number => 1.959964;

/** One experiment, looked at every day. */
export function runWorld(world: World, seed: number, alpha = 0.05): Run {
  const random = randomFrom(seed);
  let [control, arm] = [noMoments, noMoments];
  const run: Run = { wasSignificant: false, alwaysCovered: true, coveredAtTheEnd: false, explained: 0 };
  for (let day = 0; day < world.days; day += 1) {
    for (let user = 0; user < world.usersPerDay; user += 1) {
      control = addUser(control, random, { ...world, lift: 0 });
      arm = addUser(arm, random, world);
    }
    const found = compare(control, arm, { alpha });
    if (found === null) continue;
    const { low, high } = found.difference;
    run.wasSignificant ||= found.isSignificant;
    run.alwaysCovered &&= low <= world.lift && world.lift <= high;
    run.explained = found.explained;
  }
  const last = compare(control, arm, { alpha, width: normalWidth })?.difference;
  run.coveredAtTheEnd = last !== undefined && last.low <= world.lift && world.lift <= last.high;
  return run;
}

/** The moments of many users without an experiment, to plan with. */
export function sampleOf(users: number, seed: number, world: Pick<World, 'lift' | 'explained'>): Moments {
  const random = randomFrom(seed);
  let moments = noMoments;
  for (let user = 0; user < users; user += 1) moments = addUser(moments, random, world);
  return addMoments(moments, noMoments);
}

/** Whether a check of shares alarms on any day. `lost`: the part of one arm's users that is lost. */
export function alarms(
  { days, usersPerDay, lost }: { days: number; usersPerDay: number; lost: number },
  seed: number,
): boolean {
  const random = randomFrom(seed);
  const counts = [0, 0];
  for (let day = 0; day < days; day += 1) {
    for (const arm of [0, 1]) {
      const mean = (usersPerDay / 2) * (arm === 1 ? 1 - lost : 1);
      // Counts of assigned users: their difference is binomial, drawn by its normal limit.
      counts[arm] = (counts[arm] ?? 0) + Math.round(mean);
    }
    const shift = Math.round((Math.sqrt(usersPerDay) / 2) * normalFrom(random));
    counts[0] = (counts[0] ?? 0) + shift;
    counts[1] = (counts[1] ?? 0) - shift;
    if (sampleRatio(counts.map((users) => ({ users, share: 0.5 }))).isWrong) return true;
  }
  return false;
}
