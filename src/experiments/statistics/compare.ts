import { type Adjusted, adjust } from './adjust.ts';
import type { Moments } from './moments.ts';

/** An estimate with its confidence interval. */
export type Estimate = { estimate: number; low: number; high: number };

export type Comparison = {
  difference: Estimate;
  /** Relative difference between the arm and the control; 0.04 is 4% more. Null if the control's value is 0. */
  lift: Estimate | null;
  /** Whether the confidence intervals of both the difference and the lift exclude 0. */
  isSignificant: boolean;
  /** Share of the variance that the users' history explains, from 0 to 1. */
  explained: number;
};

/**
 * Number of users for which confidence intervals are tuned to be as narrow as possible. With ten times as many users,
 * they are 7% wider than the optimum.
 */
const narrowestAt = 10_000;

/**
 * Minimum number of users per arm for the normal approximation. Both arms together must also have at least this many
 * users with a value.
 */
const fewestUsers = 100;

/**
 * Returns half the width of an asymptotic confidence sequence, in standard errors (Waudby-Smith, Arbour, Sinha, Kennedy
 * and Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences", 2024). The sequence contains the
 * true value at all times with probability 1 - alpha, so results may be checked as often as desired.
 * @param n number of users in both arms together
 */
export function alwaysValidWidth(n: number, alpha: number): number {
  const rho2 = (-2 * Math.log(alpha) + Math.log(1 - 2 * Math.log(alpha))) / narrowestAt;
  const t = n * rho2;
  return Math.sqrt(((2 * (t + 1)) / t) * Math.log(Math.sqrt(t + 1) / alpha));
}

type Options = {
  /** Probability that a confidence interval misses the true value, across all interim analyses. */
  alpha: number;
  /** Returns half the width of a confidence interval, in standard errors. */
  width?: (n: number, alpha: number) => number;
};

/**
 * Compares an arm with the control: the difference between their ratios, and the lift. The users' history, which the
 * experiment can't have affected, is used to reduce the variance (CUPED).
 * @returns null if there are too few users
 */
export function compare(
  control: Moments,
  arm: Moments,
  { alpha, width = alwaysValidWidth }: Options,
): Comparison | null {
  if (control.n < fewestUsers || arm.n < fewestUsers || control.x === 0 || arm.x === 0) return null;
  const {
    arms: [base, value],
    explained,
  } = adjust([control, arm]) as { arms: [Adjusted, Adjusted]; explained: number };
  const factor = width(control.n + arm.n, alpha);
  const half = factor * Math.sqrt(base.variance + value.variance);
  const estimate = value.mean - base.mean;
  const difference = { estimate, low: estimate - half, high: estimate + half };
  const lift = liftOf(base, value, factor);
  const isCertain = ({ low, high }: Estimate): boolean => low > 0 || high < 0;
  const isSignificant = half > 0 && isCertain(difference) && (lift === null || isCertain(lift));
  return { difference, lift, isSignificant, explained };
}

/**
 * Computes the lift on a logarithmic scale, where ratios are closer to normally distributed. If the arm's value may be
 * 0, uses the delta method instead.
 */
function liftOf(control: Adjusted, arm: Adjusted, factor: number): Estimate | null {
  const [base, value] = [control.mean, arm.mean];
  if (base <= 0) return null;
  const estimate = value / base - 1;
  // If the arm's value may be 0, for example in a hold-out, the logarithm of the ratio is unbounded.
  if (value <= factor * Math.sqrt(arm.variance)) {
    const half = (factor * Math.sqrt(arm.variance + (value / base) ** 2 * control.variance)) / base;
    return { estimate, low: estimate - half, high: estimate + half };
  }
  const half = factor * Math.sqrt(control.variance / base ** 2 + arm.variance / value ** 2);
  return { estimate, low: (value / base) * Math.exp(-half) - 1, high: (value / base) * Math.exp(half) - 1 };
}
