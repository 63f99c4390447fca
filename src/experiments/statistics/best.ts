import { normalQuantile, uniform } from '../../decision/random.ts';
import { linearised, type Moments, ratioOf } from './moments.ts';

/** Draws of each arm (count): an error of about 0.005. */
const draws = 10_000;

/**
 * The probability of each arm to have the highest ratio, where before nothing is known of them: each is normal about
 * its estimate.
 */
export function probabilitiesToBeBest(arms: readonly Moments[]): number[] {
  const posteriors = arms.map((moments) => ({
    mean: ratioOf(moments),
    sd: moments.n === 0 ? 0 : Math.sqrt(linearised(moments).z / moments.n),
  }));
  const wins = arms.map(() => 0);
  for (let draw = 0; draw < draws; draw += 1) {
    let best = { at: 0, value: Number.NEGATIVE_INFINITY };
    for (const [at, { mean, sd }] of posteriors.entries()) {
      const value = mean + sd * normalQuantile(Math.min(1 - 1e-9, Math.max(1e-9, uniform(draw * 64 + at, 0x5eed))));
      if (value > best.value) best = { at, value };
    }
    wins[best.at] = (wins[best.at] ?? 0) + 1;
  }
  return wins.map((count) => count / draws);
}
