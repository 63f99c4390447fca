import { differBefore, sampleRatio } from '../../src/experiments/statistics/checks.ts';
import { compare } from '../../src/experiments/statistics/compare.ts';
import { type Moments, noMoments } from '../../src/experiments/statistics/moments.ts';

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
  /** The part of the users who buy anything; default: all. */
  paying?: number;
};

type OneUser = Pick<World, 'lift' | 'explained' | 'paying'>;
type Sums = { -readonly [Name in keyof Moments]: number };

/** One user: one to three sessions; some buy, and what they buy is skewed. By session the mean of all is 1. */
function addUser(into: Sums, random: () => number, { lift, explained, paying = 1 }: OneUser): void {
  const x = 1 + Math.floor(random() ** 2 * 3);
  // Both of mean 1: what stays the same in a user, and what does not.
  const spread = 0.8;
  const value = (own: number): number => Math.exp(spread * own - (spread * spread) / 2);
  const taste = normalFrom(random);
  const habit = value(taste);
  const mixed = explained * habit + (1 - explained) * value(normalFrom(random));
  const buys = paying === 1 || random() < paying;
  const y = buys ? (x * mixed * (1 + lift)) / paying : 0;
  const b = explained === 0 ? 0 : habit;
  into.n += 1;
  into.x += x;
  into.y += y;
  into.b += b;
  into.xx += x * x;
  into.yy += y * y;
  into.bb += b * b;
  into.xy += x * y;
  into.xb += x * b;
  into.yb += y * b;
}

const newSums = (): Sums => ({ ...noMoments });

export type Run = {
  /** On any day. */
  wasSignificant: boolean;
  /** The intervals that may be looked at always held the true difference and the true lift, on every day. */
  alwaysCovered: boolean;
  /** The interval of the last day alone, by the normal distribution, did. */
  coveredAtTheEnd: boolean;
  explained: number;
};

const normalWidth = (): number => 1.959964;

/** One experiment, looked at every day. */
export function runWorld(world: World, seed: number, alpha = 0.05): Run {
  const random = randomFrom(seed);
  const [control, arm] = [newSums(), newSums()];
  const without = { ...world, lift: 0 };
  const run: Run = { wasSignificant: false, alwaysCovered: true, coveredAtTheEnd: false, explained: 0 };
  for (let day = 0; day < world.days; day += 1) {
    for (let user = 0; user < world.usersPerDay; user += 1) {
      addUser(control, random, without);
      addUser(arm, random, world);
    }
    const found = compare(control, arm, { alpha });
    if (found === null) continue;
    run.wasSignificant ||= found.isSignificant;
    for (const { low, high } of [found.difference, found.lift ?? found.difference])
      run.alwaysCovered &&= low <= world.lift && world.lift <= high;
    run.explained = found.explained;
  }
  const last = compare(control, arm, { alpha, width: normalWidth })?.difference;
  run.coveredAtTheEnd = last !== undefined && last.low <= world.lift && world.lift <= last.high;
  return run;
}

/** Whether any of several arms, which do nothing, ever wins against one control. */
export function anyWins({ arms, ...world }: Omit<World, 'lift'> & { arms: number }, seed: number): boolean {
  const random = randomFrom(seed);
  const control = newSums();
  const others = Array.from({ length: arms }, newSums);
  const same = { ...world, lift: 0 };
  for (let day = 0; day < world.days; day += 1) {
    for (let user = 0; user < world.usersPerDay; user += 1)
      for (const arm of [control, ...others]) addUser(arm, random, same);
    if (others.some((arm) => compare(control, arm, { alpha: 0.05 / arms })?.isSignificant === true)) return true;
  }
  return false;
}

/** Whether users of an arm are ever called different before. `more`: of their history; 0: chance alone. */
export function isCalledDifferent(world: Omit<World, 'lift'> & { more: number }, seed: number): boolean {
  const random = randomFrom(seed);
  const [control, arm] = [newSums(), newSums()];
  const same = { ...world, lift: 0 };
  for (let day = 0; day < world.days; day += 1) {
    for (let user = 0; user < world.usersPerDay; user += 1)
      for (const one of [control, arm]) addUser(one, random, same);
    const { b, bb } = arm;
    const chosen = { ...arm, b: b * (1 + world.more), bb: bb * (1 + world.more) ** 2 };
    if (differBefore([[control], [chosen]]).length > 0) return true;
  }
  return false;
}

/** The moments of many users without an experiment, to plan with. */
export function sampleOf(users: number, seed: number, world: Pick<World, 'lift' | 'explained'>): Moments {
  const random = randomFrom(seed);
  const moments = newSums();
  for (let user = 0; user < users; user += 1) addUser(moments, random, world);
  return moments;
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
