import type { Offer } from '../../catalog/types.ts';
import { findSlot, type Table } from './table.ts';

/**
 * Rate of an offer at a placement in models of earlier releases, for making decisions of the last week again. Tables
 * contain pairs of successes and exposure (trials, weighted by position and user). Each level is the prior of the next
 * one, without the counts of that one.
 */

/** A Gamma distribution: its mean, and its shape, which is its weight in successes. */
export type Rate = { mean: number; shape: number };

type Level = {
  feature: (offer: Offer, place: string) => string;
  entity: (offer: Offer) => number;
  /**
   * Maximum weight, in successes, that a level below gives it. It expresses how much the offers of a category differ,
   * for example.
   */
  maxShape: number;
};

const noEntity = (): number => 0;

const offerAt = (place: string): string => `offer at ${place}`;

/** Levels, widest first. */
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

/** Index of the level with the offer's counts at all placements. */
const ofOffer = levels.length - 2;

/** Slots of an offer at a placement, widest level first; -1 if there are no counts. */
export const rateSlots = (table: Table, offer: Offer, place: string): number[] =>
  levels.map(({ feature, entity }) => findSlot(table, table.indexOf.get(feature(offer, place)) ?? -1, entity(offer)));

/**
 * Rate from the counts in slots of `rateSlots`.
 * @param startRate rate if nothing is known
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

/** Feature with the successes of an offer, and its trials that are old enough for most successes to have come. */
export const agedFeature = 'aged';

/** Minimum number of aged trials for an offer to be proven. With fewer, even a rate of 1 is possible. */
const provingTrials = 20;

/** Number of standard deviations for a high estimate: above the mean, and above the offer's own events. */
const highDeviations = { mean: 2, own: 3 };

/** High estimate of the expected successes where `count` were observed. */
const highCount = (count: number): number => count + 1 + highDeviations.own * Math.sqrt(count + 1);

/**
 * Highest plausible rate of an offer, from its aged trials and the distribution of its rate; 1 until it is proven. It
 * is used to reserve money.
 * @param mostTrials maximum number of the offer's trials that count
 */
export function highRateOf(table: Table, { id }: Offer, mostTrials: number, { mean, shape }: Rate): number {
  const aged = findSlot(table, table.indexOf.get(agedFeature) ?? -1, id);
  if (aged === -1 || (table.second[aged] as number) < provingTrials) return 1;
  const possible = highCount(table.first[aged] as number) / Math.min(table.second[aged] as number, mostTrials);
  return Math.min(1, Math.max(mean * (1 + highDeviations.mean / Math.sqrt(shape)), possible));
}

/** Trials of an offer in a model of an earlier release, weighted by the probability that they were seen. */
export const exposureOf = ({ second }: Table, slots: readonly number[]): number | null =>
  (slots[ofOffer] as number) === -1 ? null : (second[slots[ofOffer] as number] as number);
