import { normalQuantile, uniform } from '../../decision/random.ts';
import { adjust } from './adjust.ts';
import { alwaysValidWidth, compare } from './compare.ts';
import type { Moments } from './moments.ts';

/** False alarm probability of a check, across all interim analyses. */
const falseAlarms = 0.001;

/**
 * Odds against the planned shares above which the check raises an alarm. Such odds mean that users were lost or counted
 * twice.
 */
const alarmOdds = 1 / falseAlarms;

/**
 * Weights of the prior distributions, in users. They are suited to detecting deviations of about 2% and 0.2% from the
 * planned shares.
 */
const priors = [600, 60_000];

/**
 * Detects whether users were lost or counted twice in some arms, with a sequential test of the shares (Lindon and
 * Malek, "Anytime valid inference for multinomial count data", 2022). The test compares how likely the counts are under
 * shares close to the planned ones with how likely they are under exactly the planned shares. If the planned shares are
 * correct, these odds exceed 1,000 with a probability below 0.001, no matter how often the test is repeated.
 * @param arms number of users and planned share of each arm
 */
export function sampleRatio(arms: readonly { users: number; share: number }[]): { odds: number; isWrong: boolean } {
  const planned = arms.filter(({ share }) => share > 0);
  const shares = planned.reduce((sum, { share }) => sum + share, 0);
  const total = planned.reduce((sum, { users }) => sum + users, 0);
  if (planned.length < 2 || total === 0) return { odds: 1, isWrong: false };
  const oddsOf = (prior: number): number => {
    let logOdds = logGamma(prior) - logGamma(prior + total);
    for (const { users, share } of planned) {
      const part = share / shares;
      logOdds += logGamma(prior * part + users) - logGamma(prior * part) - users * Math.log(part);
    }
    return Math.exp(Math.min(700, logOdds));
  };
  const odds = priors.reduce((sum, prior) => sum + oddsOf(prior), 0) / priors.length;
  return { odds, isWrong: odds >= alarmOdds };
}

/**
 * Detects whether the users of an arm already differed from the control's users before they joined the experiment.
 * Random assignment balances the users' history. If it differs, the selection was biased, or an earlier experiment
 * still has an effect.
 * @param measures for each arm, control first, the sums of each property of the history
 * @returns indexes of the arms that differ
 */
export function differBefore(measures: readonly (readonly Moments[])[]): number[] {
  const [control = [], ...others] = measures;
  const alpha = falseAlarms / Math.max(1, others.length * control.length);
  return others.flatMap((arm, at) =>
    arm.some((own, index) => {
      const comparison = compare(historyOf(control[index] ?? own), historyOf(own), { alpha });
      return comparison?.isSignificant === true;
    })
      ? [at + 1]
      : [],
  );
}

/** Returns per-user totals in which the users' history is the measured value. */
const historyOf = ({ n, b, bb }: Moments): Moments => ({
  n,
  x: n,
  xx: n,
  y: b,
  yy: bb,
  xy: b,
  b: 0,
  bb: 0,
  xb: 0,
  yb: 0,
});

/**
 * Returns the logarithm of the gamma function. Uses Stirling's series, whose error is below 1e-10 for arguments of 10
 * or more; smaller arguments are shifted up.
 */
function logGamma(value: number): number {
  let x = value;
  let shift = 0;
  for (; x < 10; x += 1) shift -= Math.log(x);
  const inverse = 1 / (x * x);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / x;
  return shift + (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series;
}

type Plan = {
  /** Mean metric value per user. `variance` is relative to a traffic share of 1. */
  mean: number;
  variance: number;
  /** Smallest relative lift to detect; 0.03 is 3%. */
  lift: number;
  /** The control's and the arm's shares of all users. */
  shares: readonly [control: number, arm: number];
  alpha: number;
};

/** 0.8 quantile of the normal distribution. 0.8 is the power, which is the probability of detecting a true lift. */
const power80 = 0.8416;

/**
 * Returns the total number of users that the control and the arm need to detect a lift with 80% power. Returns
 * Infinity if the lift can never be detected.
 */
export function usersNeeded({ mean, variance, lift, shares: [control, arm], alpha }: Plan): number {
  const delta = Math.abs(mean * lift);
  if (delta === 0 || control <= 0 || arm <= 0) return Number.POSITIVE_INFINITY;
  const all = control + arm;
  const byUser = variance * (all / control + all / arm);
  // A few iterations suffice, because the interval width hardly depends on the number of users.
  let users = byUser / delta ** 2;
  for (let turn = 0; turn < 20; turn += 1)
    users = (byUser * (alwaysValidWidth(Math.max(users, 1), alpha) + power80) ** 2) / delta ** 2;
  return Math.ceil(users);
}

/** Number of random draws per arm. The error of a probability is then about 0.005. */
const draws = 10_000;

const normalsByPlace: Float64Array[] = [];

/**
 * Returns standard normal draws for the arm at an index. They are generated once, so that each call returns the same
 * draws.
 */
function normalsOf(place: number): Float64Array {
  normalsByPlace[place] ??= Float64Array.from({ length: draws }, (_, draw) =>
    normalQuantile(Math.min(1 - 1e-9, Math.max(1e-9, uniform(draw * 64 + place, 0x5eed)))),
  );
  return normalsByPlace[place];
}

/**
 * Returns, for each arm, the probability that it has the highest ratio, under a flat prior. Each ratio is assumed to be
 * normally distributed around its estimate.
 */
export function probabilitiesToBeBest(arms: readonly Moments[]): number[] {
  const highest = new Float64Array(draws).fill(Number.NEGATIVE_INFINITY);
  const best = new Uint8Array(draws);
  for (const [at, { mean, variance }] of adjust(arms).arms.entries()) {
    // All arms without data must be equally likely to be the best. A tiny standard deviation breaks ties between them
    // at random.
    const sd = Math.sqrt(variance) || 1e-300;
    const normals = normalsOf(at);
    for (let draw = 0; draw < draws; draw += 1) {
      const value = mean + sd * (normals[draw] as number);
      if (value > (highest[draw] as number)) {
        highest[draw] = value;
        best[draw] = at;
      }
    }
  }
  const wins = arms.map(() => 0);
  for (const at of best) wins[at] = (wins[at] ?? 0) + 1;
  return wins.map((count) => count / draws);
}
