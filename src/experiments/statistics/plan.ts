import { alwaysValidWidth } from './compare.ts';

export type Plan = {
  /** Of the metric of one user: its mean, and its variance divided by that of a share of 1. */
  mean: number;
  variance: number;
  /** The smallest lift that is to be seen: 0.03 is 3 %. */
  lift: number;
  /** Shares of control and arm among all users. */
  shares: readonly [control: number, arm: number];
  alpha: number;
};

/** Quantile of the normal distribution at 0.8: with this probability a true lift is seen. */
const power80 = 0.8416;

/** Users of control and arm together with whom a lift is seen with a probability of 80 %; Infinity: it never is. */
export function usersNeeded({ mean, variance, lift, shares: [control, arm], alpha }: Plan): number {
  const delta = Math.abs(mean * lift);
  if (delta === 0 || control <= 0 || arm <= 0) return Number.POSITIVE_INFINITY;
  const all = control + arm;
  const byUser = variance * (all / control + all / arm);
  // The width depends on the number of users, but hardly: a few turns find it.
  let users = byUser / delta ** 2;
  for (let turn = 0; turn < 20; turn += 1)
    users = (byUser * (alwaysValidWidth(Math.max(users, 1), alpha) + power80) ** 2) / delta ** 2;
  return Math.ceil(users);
}
