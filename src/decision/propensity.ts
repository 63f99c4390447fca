import { decide } from './decide.ts';
import { mix, salts } from './random.ts';
import type { DecidedOffer, DecisionInput } from './types.ts';

/** Decisions sampled for an estimate: its standard error is at most 2.5 percentage points. */
const sampleCount = 400;

/** Decisions made between two pauses: about a millisecond of work. */
const sliceSize = 25;

/** The probability, over all seeds, that an offer is shown at a position (from 1). */
export type Propensity = (offerId: number, position: number) => number;

/**
 * Estimates the propensities of a decision by making it with other seeds. The decision in question counts as one more
 * sample, so that no shown offer has a propensity of 0. The caller may do other work at each `yield`.
 * @param arrange what is done with the offers of a decision before they are shown
 */
export function* estimatePropensities(
  input: DecisionInput,
  arrange: (offers: readonly DecidedOffer[]) => readonly DecidedOffer[] = (offers) => offers,
): Generator<void, Propensity> {
  const shown = new Map<string, number>();
  const keyOf = (offerId: number, position: number): string => `${offerId} ${position}`;
  for (let sample = 0; sample < sampleCount; sample++) {
    if (sample % sliceSize === sliceSize - 1) yield;
    const { offers } = decide({ ...input, seed: mix(sample, salts.propensity) });
    for (const [at, { offer }] of arrange(offers).entries()) {
      const key = keyOf(offer.id, at + 1);
      shown.set(key, (shown.get(key) ?? 0) + 1);
    }
  }
  return (offerId, position) => ((shown.get(keyOf(offerId, position)) ?? 0) + 1) / (sampleCount + 1);
}
