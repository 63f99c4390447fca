import { decide } from './decide.ts';
import { mix, salts } from './random.ts';
import { explorationShare, isExploring } from './rank/sampled-ranking.ts';
import type { DecidedOffer, DecisionInput } from './types.ts';

/**
 * Number of sampled decisions without and with exploration. They are separate, because offers shown only by exploration
 * would be in hardly any sample. The standard error of an estimate is at most 2.5 percentage points.
 */
const sampleCounts = { plain: 400, exploring: 100 };

/** Number of decisions made between two pauses: about a millisecond of work. */
const sliceSize = 25;

/** Probability, over all seeds, that an offer is shown at a position (from 1). */
export type Propensity = (offerId: number, position: number) => number;

/** Frequencies of offers in decisions with other seeds. */
export type SampledDecisions = {
  /** Propensity of an offer that the decision itself shows. It counts as one more sample, so it is never 0. */
  ofShown: Propensity;
  ofAny: Propensity;
  /** Probability that a position shows any offer. */
  filled: (position: number) => number;
};

type Stratum = { share: number; seeds: readonly number[]; timesShown: Map<string, number>; filled: number[] };

type Sampling = {
  /** Rearranges the offers of a decision before they are shown. */
  arrange?: (offers: readonly DecidedOffer[]) => readonly DecidedOffer[];
  /**
   * Salt of the seeds. Decisions whose results are averaged need different salts, because their errors would add up
   * otherwise.
   */
  salt?: number;
};

/** Makes a decision with other seeds. The caller may do other work at each `yield`. */
export function* sampleDecisions(
  input: DecisionInput,
  { arrange = (offers) => offers, salt = 0 }: Sampling = {},
): Generator<void, SampledDecisions> {
  const [plain, exploring] = [stratumOf(false, salt), stratumOf(true, salt)];
  const strata = [plain, exploring];
  let decisionCount = 0;
  for (const { seeds, timesShown, filled } of strata)
    for (const seed of seeds) {
      if (++decisionCount % sliceSize === 0) yield;
      for (const [at, { offer }] of arrange(decide({ ...input, seed }).offers).entries()) {
        const key = keyOf(offer.id, at + 1);
        timesShown.set(key, (timesShown.get(key) ?? 0) + 1);
        filled[at] = (filled[at] ?? 0) + 1;
      }
    }
  const own = isExploring(input.seed) ? exploring : plain;
  const sum = (of: (stratum: Stratum) => number): number =>
    strata.reduce((all, stratum) => all + stratum.share * of(stratum), 0);
  const shownIn = ({ timesShown }: Stratum, offerId: number, position: number) =>
    timesShown.get(keyOf(offerId, position)) ?? 0;
  return {
    ofShown: (offerId, position) =>
      sum((stratum) => {
        const ownSample = stratum === own ? 1 : 0;
        return (shownIn(stratum, offerId, position) + ownSample) / (stratum.seeds.length + ownSample);
      }),
    ofAny: (offerId, position) => sum((stratum) => shownIn(stratum, offerId, position) / stratum.seeds.length),
    filled: (position) => sum(({ filled, seeds }) => (filled[position - 1] ?? 0) / seeds.length),
  };
}

/** Estimates the propensities of a decision by making it with other seeds. */
export function* estimatePropensities(
  input: DecisionInput,
  arrange: Sampling['arrange'] = (offers) => offers,
): Generator<void, Propensity> {
  return (yield* sampleDecisions(input, { arrange })).ofShown;
}

const keyOf = (offerId: number, position: number): string => `${offerId} ${position}`;

const stratumOf = (explores: boolean, salt: number): Stratum => ({
  share: explores ? explorationShare : 1 - explorationShare,
  seeds: seedsOf(explores, mix(salts.propensity, salt)),
  timesShown: new Map(),
  filled: [],
});

function seedsOf(explores: boolean, salt: number): number[] {
  const count = explores ? sampleCounts.exploring : sampleCounts.plain;
  const seeds: number[] = [];
  for (let at = 0; seeds.length < count; at++) {
    const seed = mix(at, salt);
    if (isExploring(seed) === explores) seeds.push(seed);
  }
  return seeds;
}
