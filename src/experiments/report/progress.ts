import { dayMs } from '../../platform/lib/time.ts';
import { compare } from '../statistics/compare.ts';
import { linearised, noMoments, ratioOf } from '../statistics/moments.ts';
import { alpha, usersOfAllArms } from './plan.ts';
import type { ArmSums } from './sums.ts';

type Design = { shares: readonly number[]; lift: number; sinceMs: number; nowMs: number };

type Progress = {
  /** Required number of users in all arms together, or null if unknown. */
  needed: number | null;
  /** Number of users in all arms so far. */
  users: number;
  /**
   * Estimated days left, based on the average number of users per day since the version started. At least 1, or null if
   * unknown.
   */
  daysLeft: number | null;
  /** Share of the variance that the users' history explains, from 0 to 1. The lowest value among all arms is used. */
  explained: number;
};

/** Minimum number of control users required to estimate the variance. */
const fewestUsers = 100;

/**
 * Returns an experiment's progress towards detecting the smallest revenue lift.
 * @param arms sums of each arm, control first
 */
export function progressOf(arms: readonly (ArmSums | null)[], { shares, lift, sinceMs, nowMs }: Design): Progress {
  const [control = noMoments, ...others] = arms.map((arm) => arm?.metrics.revenue ?? noMoments);
  const users = others.reduce((sum, { n }) => sum + n, control.n);
  const explainedShares = others.flatMap((arm) => compare(control, arm, { alpha })?.explained ?? []);
  const explained = explainedShares.length === 0 ? 0 : Math.max(0, Math.min(...explainedShares));
  const variance = linearised(control).z * (1 - explained);
  const needed = control.n < fewestUsers ? null : usersOfAllArms({ mean: ratioOf(control), variance, lift, shares });
  const days = Math.max(1 / 24, (nowMs - sinceMs) / dayMs);
  const isKnown = needed !== null && users > 0 && !Number.isNaN(sinceMs);
  const daysLeft = isKnown ? Math.max(1, Math.ceil(((needed - users) * days) / users)) : null;
  return { needed, users, daysLeft, explained };
}
