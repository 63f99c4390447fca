import { decide } from './decide.ts';
import { mix, salts } from './random.ts';
import { explorationShare, isExploring } from './rank/sampled-ranking.ts';
import type { DecidedOffer, DecisionInput } from './types.ts';

/**
 * Decisions sampled of those that do not explore, and of those that do: apart, because what is shown by exploration
 * alone would be in hardly any sample. The standard error of an estimate is at most 2.5 percentage points.
 */
const sampleCounts = { plain: 400, exploring: 100 };

/** Decisions made between two pauses: about a millisecond of work. */
const sliceSize = 25;

/** The probability, over all seeds, that an offer is shown at a position (from 1). */
export type Propensity = (offerId: number, position: number) => number;

/** What decisions of other seeds show. */
export type SampledDecisions = {
  /** Of what the decision itself shows, which counts as one more sample: never 0. */
  ofShown: Propensity;
  ofAny: Propensity;
  /** The probability that an offer is shown at a position, whichever. */
  filled: (position: number) => number;
};

type Stratum = { share: number; seeds: readonly number[]; shown: Map<string, number>; filled: number[] };

type Sampling = {
  /** What is done with the offers of a decision before they are shown. */
  arrange?: (offers: readonly DecidedOffer[]) => readonly DecidedOffer[];
  /** Of the seeds: those that are averaged over must differ in it, as errors would add up otherwise. */
  salt?: number;
};

/** Makes a decision with other seeds. The caller may do other work at each `yield`. */
export function* sampleDecisions(
  input: DecisionInput,
  { arrange = (offers) => offers, salt = 0 }: Sampling = {},
): Generator<void, SampledDecisions> {
  const [plain, exploring] = [stratumOf(false, salt), stratumOf(true, salt)];
  const strata = [plain, exploring];
  let made = 0;
  for (const { seeds, shown, filled } of strata)
    for (const seed of seeds) {
      if (++made % sliceSize === 0) yield;
      for (const [at, { offer }] of arrange(decide({ ...input, seed }).offers).entries()) {
        const key = keyOf(offer.id, at + 1);
        shown.set(key, (shown.get(key) ?? 0) + 1);
        filled[at] = (filled[at] ?? 0) + 1;
      }
    }
  const own = isExploring(input.seed) ? exploring : plain;
  const sum = (of: (stratum: Stratum) => number): number =>
    strata.reduce((all, stratum) => all + stratum.share * of(stratum), 0);
  const shownIn = ({ shown }: Stratum, offerId: number, position: number) => shown.get(keyOf(offerId, position)) ?? 0;
  return {
    ofShown: (offerId, position) =>
      sum((stratum) => {
        const one = stratum === own ? 1 : 0;
        return (shownIn(stratum, offerId, position) + one) / (stratum.seeds.length + one);
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
  shown: new Map(),
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
