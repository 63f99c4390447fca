import { linearised, type Moments, ratioOf } from './moments.ts';

/** Ratio as it would be if the users of all arms had the same history, with its variance. */
export type Adjusted = { mean: number; variance: number };

/**
 * Adjusts results for the users' history (CUPED). The experiment can't have affected that history, so any difference
 * that it explains is due to chance and is subtracted. The slope is estimated over all arms together, because it must
 * not depend on the arm.
 */
export function adjust(arms: readonly Moments[]): { arms: Adjusted[]; explained: number } {
  const counted = arms.filter(({ n }) => n > 0);
  const sumOf = (of: (arm: Moments) => number): number => counted.reduce((sum, arm) => sum + of(arm), 0);
  const bb = sumOf((arm) => linearised(arm).b / arm.n);
  const theta = bb === 0 ? 0 : sumOf((arm) => linearised(arm).zb / arm.n) / bb;
  const history =
    sumOf(({ b }) => b) /
    Math.max(
      1,
      sumOf(({ n }) => n),
    );
  const adjusted = arms.map((arm): Adjusted => {
    if (arm.n === 0) return { mean: 0, variance: 0 };
    const { z, b, zb } = linearised(arm);
    return {
      mean: ratioOf(arm) - theta * (arm.b / arm.n - history),
      variance: Math.max(0, z - 2 * theta * zb + theta * theta * b) / arm.n,
    };
  });
  const plain = sumOf((arm) => linearised(arm).z / arm.n);
  const residual = adjusted.reduce((sum, { variance }) => sum + variance, 0);
  return { arms: adjusted, explained: plain === 0 ? 0 : 1 - residual / plain };
}
