import type { Offer } from '../../catalog/types.ts';
import { findSlot, type Table } from './table.ts';

/**
 * Rates of offers at placements in models of earlier releases, which are needed to repeat decisions from the last week.
 * The tables contain pairs of successes and exposure (number of trials, weighted by position and user). Each level is
 * the prior for the next narrower level, and excludes that level's own counts.
 */

/**
 * A Gamma distribution with its mean and its shape. The shape is the distribution's weight as a number of successes.
 */
export type Rate = { mean: number; shape: number };

type Level = {
  feature: (offer: Offer, place: string) => string;
  entity: (offer: Offer) => number;
  /**
   * Maximum weight of this level as the prior for the next one, as a number of successes. A low maximum means that, for
   * example, the offers of a category differ a lot.
   */
  maxShape: number;
};

const noEntity = (): number => 0;

const offerAt = (place: string): string => `offer at ${place}`;

/** Levels of aggregation, widest first. */
const levels: readonly Level[] = [
  { feature: () => 'all', entity: noEntity, maxShape: 2 },
  { feature: ({ campaign }) => `category ${campaign.category}`, entity: noEntity, maxShape: 3 },
  { feature: () => 'advertiser', entity: ({ campaign }) => campaign.advertiserId, maxShape: 3 },
  { feature: () => 'campaign', entity: ({ campaign }) => campaign.id, maxShape: 5 },
  { feature: () => 'offer', entity: ({ id }) => id, maxShape: 30 },
  {
    feature: (_offer, place) => offerAt(place),
    entity: ({ id }) => id,
    maxShape: Number.POSITIVE_INFINITY,
  },
];

/** Index of the level with the offer's counts across all placements. */
const ofOffer = levels.length - 2;

/**
 * Returns the table slots for an offer at a placement, widest level first. A slot is -1 if the table has no counts for
 * it.
 */
export const rateSlots = (table: Table, offer: Offer, place: string): number[] =>
  levels.map(({ feature, entity }) => findSlot(table, table.indexOf.get(feature(offer, place)) ?? -1, entity(offer)));

/**
 * Computes a rate from the counts in the slots that `rateSlots` returned.
 * @param startRate rate to assume if nothing is known
 */
export function rateOf({ first, second }: Table, slots: readonly number[], startRate: number): Rate {
  let mean = startRate;
  let shape = 1;
  for (const [at, { maxShape }] of levels.entries()) {
    const [own, next] = [slots[at] ?? -1, slots[at + 1] ?? -1];
    if (own !== -1) {
      const successes = Math.max(0, (first[own] as number) - (next === -1 ? 0 : (first[next] as number)));
      const exposure = Math.max(0, (second[own] as number) - (next === -1 ? 0 : (second[next] as number)));
      mean = (successes + shape) / (exposure + shape / mean);
      shape += successes;
    }
    shape = Math.min(shape, maxShape);
  }
  return { mean, shape };
}

/** Feature with an offer's successes, and its trials that are old enough for most successes to have arrived. */
export const agedFeature = 'aged';

/** Minimum number of aged trials for an offer to count as proven. With fewer trials, a rate of 1 can't be ruled out. */
const provingTrials = 20;

/**
 * Number of standard deviations that a high estimate adds to the mean rate, and to the offer's own number of successes.
 */
const highDeviations = { mean: 2, own: 3 };

/** Returns a high estimate for the expected number of successes after `count` were observed. */
const highCount = (count: number): number => count + 1 + highDeviations.own * Math.sqrt(count + 1);

/**
 * Returns the highest plausible rate of an offer, based on its aged trials and its rate distribution. Until the offer
 * is proven, the result is 1. Used for budget reservations.
 * @param mostTrials maximum number of the offer's trials to consider
 */
export function highRateOf(table: Table, { id }: Offer, mostTrials: number, { mean, shape }: Rate): number {
  const aged = findSlot(table, table.indexOf.get(agedFeature) ?? -1, id);
  if (aged === -1 || (table.second[aged] as number) < provingTrials) return 1;
  const possible = highCount(table.first[aged] as number) / Math.min(table.second[aged] as number, mostTrials);
  return Math.min(1, Math.max(mean * (1 + highDeviations.mean / Math.sqrt(shape)), possible));
}

/**
 * Returns the number of an offer's trials, weighted by the probability that they were seen. Only for models of earlier
 * releases. Null if there are no counts.
 */
export const exposureOf = ({ second }: Table, slots: readonly number[]): number | null =>
  (slots[ofOffer] as number) === -1 ? null : (second[slots[ofOffer] as number] as number);
