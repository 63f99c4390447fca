import type { Offer } from '../../catalog/types.ts';
import { findSlot, type Table } from './table.ts';

/*
 * The rate of an offer at a placement in models of earlier releases: decisions of the last week can be made again.
 * Tables hold pairs of successes and exposure (trials, weighed by position and user). Each level is the prior of the
 * next, without what the next one counts itself.
 */

/** A Gamma distribution: its mean, and its shape, which is the successes it is worth. */
export type Rate = { mean: number; shape: number };

type Level = {
  feature: (offer: Offer, place: string) => string;
  entity: (offer: Offer) => number;
  /** A level below takes it for worth so many successes at most: how much offers of one category and so on differ. */
  maxShape: number;
};

const noEntity = (): number => 0;

const offerAt = (place: string): string => `offer at ${place}`;

/** From the widest on. */
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

/** The place of the level that has what an offer counts everywhere. */
const ofOffer = levels.length - 2;

/** The slots of an offer at a placement, from the widest level on. -1: nothing is counted there. */
export const rateSlots = (table: Table, offer: Offer, place: string): number[] =>
  levels.map(({ feature, entity }) => findSlot(table, table.indexOf.get(feature(offer, place)) ?? -1, entity(offer)));

/** The rate that the counts of slots from `rateSlots` say. @param startRate where nothing is known */
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

/** Feature with the successes of an offer, and its trials that were old enough for most successes to have come. */
export const agedFeature = 'aged';

/** An offer with fewer aged trials is not proven: nothing speaks against a rate of 1. */
const provingTrials = 20;

/** How far above the estimate a rate may be (standard deviations): above the mean, and above the own events only. */
const highDeviations = { mean: 2, own: 3 };

/** Successes that may have been expected where `count` came. */
const highCount = (count: number): number => count + 1 + highDeviations.own * Math.sqrt(count + 1);

/**
 * Highest plausible rate of an offer, from its aged trials and the distribution of its rate; 1 until it is proven.
 * Money is reserved by it.
 * @param mostTrials trials of the offer that count at most
 */
export function highRateOf(table: Table, { id }: Offer, mostTrials: number, { mean, shape }: Rate): number {
  const aged = findSlot(table, table.indexOf.get(agedFeature) ?? -1, id);
  if (aged === -1 || (table.second[aged] as number) < provingTrials) return 1;
  const possible = highCount(table.first[aged] as number) / Math.min(table.second[aged] as number, mostTrials);
  return Math.min(1, Math.max(mean * (1 + highDeviations.mean / Math.sqrt(shape)), possible));
}

/** Trials of an offer in a model of an earlier release, weighed by how likely they were looked at. */
export const exposureOf = ({ second }: Table, slots: readonly number[]): number | null =>
  (slots[ofOffer] as number) === -1 ? null : (second[slots[ofOffer] as number] as number);
