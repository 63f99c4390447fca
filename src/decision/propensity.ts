import { decide } from './decide.ts';
import { mix, salts } from './random.ts';
import { explorationShare, isExploring } from './rank/sampled-ranking.ts';
import type { DecidedOffer, DecisionInput } from './types.ts';

/**
 * Numbers of sampled decisions without exploration (`plain`) and with it (`exploring`). The two kinds are sampled
 * separately, because offers that only exploration shows would hardly ever occur in a joint sample. The standard error
 * of an estimate is at most 2.5 percentage points.
 */
const sampleCounts = { plain: 400, exploring: 100 };

/** Number of decisions to sample between two pauses, which takes about a millisecond. */
const sliceSize = 25;

/** Returns the probability, over all seeds, that an offer is shown at a position (from 1). */
export type Propensity = (offerId: number, position: number) => number;

type Stratum = { share: number; seeds: readonly number[]; timesShown: Map<string, number> };

/**
 * Estimates the propensities of the offers that a decision shows, by repeating the decision with other seeds. The
 * decision itself counts as an additional sample, so that no propensity is 0. The caller may do other work at each
 * `yield`.
 * @param arrange reorders the offers of a decision before they are shown
 */
export function* estimatePropensities(
  input: DecisionInput,
  arrange: (offers: readonly DecidedOffer[]) => readonly DecidedOffer[] = (offers) => offers,
): Generator<void, Propensity> {
  const [plain, exploring] = [stratumOf(false), stratumOf(true)];
  const strata = [plain, exploring];
  let decisionCount = 0;
  for (const { seeds, timesShown } of strata)
    for (const seed of seeds) {
      if (++decisionCount % sliceSize === 0) yield;
      for (const [at, { offer }] of arrange(decide({ ...input, seed }).offers).entries()) {
        const key = keyOf(offer.id, at + 1);
        timesShown.set(key, (timesShown.get(key) ?? 0) + 1);
      }
    }
  const own = isExploring(input.seed) ? exploring : plain;
  return (offerId, position) =>
    strata.reduce((sum, stratum) => {
      const ownSample = stratum === own ? 1 : 0;
      const times = stratum.timesShown.get(keyOf(offerId, position)) ?? 0;
      return sum + (stratum.share * (times + ownSample)) / (stratum.seeds.length + ownSample);
    }, 0);
}

const keyOf = (offerId: number, position: number): string => `${offerId} ${position}`;

const stratumOf = (explores: boolean): Stratum => ({
  share: explores ? explorationShare : 1 - explorationShare,
  seeds: seedsOf(explores),
  timesShown: new Map(),
});

function seedsOf(explores: boolean): number[] {
  const salt = mix(salts.propensity, 0);
  const count = explores ? sampleCounts.exploring : sampleCounts.plain;
  const seeds: number[] = [];
  for (let at = 0; seeds.length < count; at++) {
    const seed = mix(at, salt);
    if (isExploring(seed) === explores) seeds.push(seed);
  }
  return seeds;
}
