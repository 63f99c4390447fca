import { differBefore, sampleRatio } from '../statistics/checks.ts';
import { noMoments } from '../statistics/moments.ts';
import { outside } from './by-segment.ts';
import type { ArmSums, Population } from './sums.ts';

/** Whether the numbers of a report can be trusted. */
export type Validity = {
  /** Users were lost or counted twice in some arms. */
  sample_ratio: { is_wrong: boolean; odds: number };
  /** An arm changes who sees an offer, so those who do cannot be compared; null: all users are. */
  seen_ratio: { is_wrong: boolean; odds: number } | null;
  /** Arms whose users differed from the control's before they were in the experiment. */
  before_exposure: { is_wrong: boolean; arms: string[] };
};

type Asked = {
  /** Arms, the control first, and the share of each. */
  names: readonly string[];
  shares: readonly number[];
  population: Population;
};

/** @param sums of all users, whatever they saw: a check must not look at what arms change */
export function validityOf(sums: readonly ArmSums[], { names, shares, population }: Asked): Validity {
  const arms = names.map((name) => sums.find(({ arm }) => arm === name));
  const ratio = (of: (arm: ArmSums) => number): { is_wrong: boolean; odds: number } => {
    const counted = arms.map((arm, at) => ({ users: arm === undefined ? 0 : of(arm), share: shares[at] ?? 0 }));
    const { odds, isWrong } = sampleRatio(counted);
    return { is_wrong: isWrong, odds: Math.min(odds, 1e12) };
  };
  const measures = arms.map((arm) => [arm?.metrics.clicks ?? noMoments, arm?.metrics.revenue ?? noMoments]);
  const different = differBefore(measures).map((at) => names[at] || outside);
  return {
    sample_ratio: ratio(({ users }) => users),
    seen_ratio: population === 'all' ? null : ratio(({ usersWhoWouldSee }) => usersWhoWouldSee),
    before_exposure: { is_wrong: different.length > 0, arms: different },
  };
}
