import { differBefore, sampleRatio } from '../../src/experiments/statistics/checks.ts';
import { compare } from '../../src/experiments/statistics/compare.ts';
import { type Moments, noMoments } from '../../src/experiments/statistics/moments.ts';

/** Returns a seeded random number generator (mulberry32), so that every run simulates the same worlds. */
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

/** Simulated world in which new users arrive every day. */
export type World = {
  days: number;
  /** Number of users per arm and day. */
  usersPerDay: number;
  /** Relative revenue lift of the arm: 0.1 is 10% more revenue. */
  lift: number;
  /** Share of the variance that is explained by the users' history. */
  explained: number;
  /** Share of users who buy anything. Default: all. */
  paying?: number;
};

type OneUser = Pick<World, 'lift' | 'explained' | 'paying'>;
type Sums = { -readonly [Name in keyof Moments]: number };

/**
 * Adds a user with one to three sessions. Only some users buy, and their amounts are skewed. The mean per session over
 * all users is 1.
 */
function addUser(into: Sums, random: () => number, { lift, explained, paying = 1 }: OneUser): void {
  const x = 1 + Math.floor(random() ** 2 * 3);
  // Both factors have the mean 1: the user's persistent habit and the random part.
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
  /** Whether the result was significant on any day. */
  wasSignificant: boolean;
  /** Whether the sequential confidence intervals contained the true difference and the true lift on every day. */
  alwaysCovered: boolean;
  /** Whether the normal confidence interval of the last day contained the true lift. */
  coveredAtTheEnd: boolean;
  explained: number;
};

const normalWidth = (): number => 1.959964;

/** Simulates an experiment that is checked every day. */
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
    const comparison = compare(control, arm, { alpha });
    if (comparison === null) continue;
    run.wasSignificant ||= comparison.isSignificant;
    for (const { low, high } of [comparison.difference, comparison.lift ?? comparison.difference])
      run.alwaysCovered &&= low <= world.lift && world.lift <= high;
    run.explained = comparison.explained;
  }
  const last = compare(control, arm, { alpha, width: normalWidth })?.difference;
  run.coveredAtTheEnd = last !== undefined && last.low <= world.lift && world.lift <= last.high;
  return run;
}

/** Returns whether any of several arms without an effect ever wins against the shared control. */
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

/**
 * Returns whether the users of an arm are ever reported as different before the experiment. `more` is the relative
 * change of their history; with 0, differences are due to chance only.
 */
export function isCalledDifferent(world: Omit<World, 'lift'> & { more: number }, seed: number): boolean {
  const random = randomFrom(seed);
  const [control, arm] = [newSums(), newSums()];
  const same = { ...world, lift: 0 };
  for (let day = 0; day < world.days; day += 1) {
    for (let user = 0; user < world.usersPerDay; user += 1)
      for (const sums of [control, arm]) addUser(sums, random, same);
    const { b, bb } = arm;
    const changed = { ...arm, b: b * (1 + world.more), bb: bb * (1 + world.more) ** 2 };
    if (differBefore([[control], [changed]]).length > 0) return true;
  }
  return false;
}

/** Returns the moments of many users without an experiment, for planning. */
export function sampleOf(users: number, seed: number, world: Pick<World, 'lift' | 'explained'>): Moments {
  const random = randomFrom(seed);
  const moments = newSums();
  for (let user = 0; user < users; user += 1) addUser(moments, random, world);
  return moments;
}

/**
 * Returns whether the sample ratio check raises an alarm on any day. `lost` is the share of one arm's users that is
 * lost.
 */
export function alarms(
  { days, usersPerDay, lost }: { days: number; usersPerDay: number; lost: number },
  seed: number,
): boolean {
  const random = randomFrom(seed);
  const counts = [0, 0];
  for (let day = 0; day < days; day += 1) {
    for (const arm of [0, 1]) {
      const mean = (usersPerDay / 2) * (arm === 1 ? 1 - lost : 1);
      // Number of assigned users. The difference between the arms is binomial, approximated by a normal distribution.
      counts[arm] = (counts[arm] ?? 0) + Math.round(mean);
    }
    const shift = Math.round((Math.sqrt(usersPerDay) / 2) * normalFrom(random));
    counts[0] = (counts[0] ?? 0) + shift;
    counts[1] = (counts[1] ?? 0) - shift;
    if (sampleRatio(counts.map((users) => ({ users, share: 0.5 }))).isWrong) return true;
  }
  return false;
}
