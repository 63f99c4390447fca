import type { Offer } from '../catalog/types.ts';
import { addFeature, findSlot, setPair, slotOf, type Table } from './table.ts';

/**
 * The rate of an offer at a placement, by counting: pairs of successes and exposure (trials, each weighed by what is
 * known of its position and its user). Each level is the prior of the next, without what the next one counts itself.
 */

/** A Gamma distribution: its mean, and its shape, which is the successes it is worth. */
export type Rate = { mean: number; shape: number };

type Level = {
  feature: (offer: Offer, place: string) => string;
  entity: (offer: Offer) => number;
  /** A level below takes it for worth so many successes at most: how much offers of one category and so on differ. */
  maxShape: number;
  /** Successes that are remembered (count): older ones fade, as rates change. */
  remembered: number;
};

/** Of the levels that others take as their prior, and of those that are an offer's own. */
const [ofMany, ofOne] = [100_000, 300];

const noEntity = (): number => 0;

const offerAt = (place: string): string => `offer at ${place}`;

/** From the widest on. */
const levels: readonly Level[] = [
  { feature: () => 'all', entity: noEntity, maxShape: 2, remembered: ofMany },
  { feature: ({ campaign }) => `category ${campaign.category}`, entity: noEntity, maxShape: 3, remembered: ofMany },
  { feature: () => 'advertiser', entity: ({ campaign }) => campaign.advertiserId, maxShape: 3, remembered: ofMany },
  { feature: () => 'campaign', entity: ({ campaign }) => campaign.id, maxShape: 5, remembered: ofMany },
  { feature: () => 'offer', entity: ({ id }) => id, maxShape: 30, remembered: ofOne },
  {
    feature: (_offer, place) => offerAt(place),
    entity: ({ id }) => id,
    maxShape: Number.POSITIVE_INFINITY,
    remembered: ofOne,
  },
];

/** The place of the level that has what an offer counts everywhere. */
const ofOffer = levels.length - 2;

/** The slots of an offer at a placement, from the widest level on. -1: nothing is counted there. */
export const rateSlots = (table: Table, offer: Offer, place: string): number[] =>
  levels.map(({ feature, entity }) => findSlot(table, table.indexOf.get(feature(offer, place)) ?? -1, entity(offer)));

/** The same, added where nothing is counted yet. */
export const addedRateSlots = (table: Table, offer: Offer, place: string): number[] =>
  levels.map(({ feature, entity }) => slotOf(table, addFeature(table, feature(offer, place)), entity(offer)));

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

/** Of an offer, everywhere: its successes, and its trials that were old enough for most successes to have come. */
const agedFeature = 'aged';

/** An offer with fewer aged trials is not proven: nothing speaks against a rate of 1. */
const provingTrials = 20;

export function countAged(table: Table, { id }: Offer, successes: number, trials: number): void {
  const slot = slotOf(table, addFeature(table, agedFeature), id);
  addCount(table, slot, { successes, exposure: trials, remembered: ofOne });
}

/** How far above what was seen a rate may be (standard deviations): above the mean, and above its own events alone. */
const highDeviations = { mean: 2, own: 3 };

/** What may have been expected where so many events came. */
const highCount = (count: number): number => count + 1 + highDeviations.own * Math.sqrt(count + 1);

/**
 * What the rate of an offer may be, rather than what it is taken for; 1 until it is proven. Money is reserved by it.
 * @param slots from `rateSlots`
 */
export function highRateOf(table: Table, offer: Offer, slots: readonly number[], { mean, shape }: Rate): number {
  const own = slots[ofOffer] as number;
  const aged = findSlot(table, table.indexOf.get(agedFeature) ?? -1, offer.id);
  if (own === -1 || aged === -1 || (table.second[aged] as number) < provingTrials) return 1;
  // Trials that are too young to have shown their worth are none, nor are those that hardly anybody looked at.
  const trials = Math.min(table.second[aged] as number, table.second[own] as number);
  const possible = highCount(table.first[aged] as number) / trials;
  return Math.min(1, Math.max(mean * (1 + highDeviations.mean / Math.sqrt(shape)), possible));
}

/** Adds to the counts of slots from `addedRateSlots`. */
export function count(table: Table, slots: readonly number[], successes: number, exposure: number): void {
  for (const [at, { remembered }] of levels.entries())
    addCount(table, slots[at] as number, { successes, exposure, remembered });
}

/** The slots of offers at a placement, by offer id. */
export const slotsAt = ({ slots, indexOf }: Table, place: string): ReadonlyMap<number, number> =>
  slots[indexOf.get(offerAt(place)) ?? -1] ?? new Map();

/**
 * Takes what an offer is known for at a placement from all levels.
 * @param slots from `rateSlots`; an offer that moved may have none at the wider ones
 * @param left the share of it that is kept
 */
export function forget(table: Table, { id }: Offer, slots: readonly number[], left: number): void {
  const { first, second } = table;
  const [own, ofAll] = [slots.at(-1) as number, slots[ofOffer] as number];
  const [successes, exposure] = [(first[own] as number) * (1 - left), (second[own] as number) * (1 - left)];
  const before = second[ofAll] as number;
  for (const slot of slots)
    if (slot !== -1)
      setPair(
        table,
        slot,
        Math.max(0, (first[slot] as number) - successes),
        Math.max(0, (second[slot] as number) - exposure),
      );
  const aged = findSlot(table, table.indexOf.get(agedFeature) ?? -1, id);
  if (aged === -1 || before === 0) return;
  const kept = (second[ofAll] as number) / before;
  setPair(table, aged, (first[aged] as number) * kept, (second[aged] as number) * kept);
}

/** Adds to the counts of a slot; what is more than is remembered fades. */
function addCount(
  table: Table,
  slot: number,
  { successes, exposure, remembered }: { successes: number; exposure: number; remembered: number },
): void {
  const sum = (table.first[slot] as number) + successes;
  const fade = sum > remembered ? remembered / sum : 1;
  setPair(table, slot, sum * fade, ((table.second[slot] as number) + exposure) * fade);
}

/**
 * How likely an offer at a position is looked at, in comparison with the first position: pairs of clicks and of those
 * expected on the first position, everywhere and at a placement.
 */
const featuresOf = (place: string, position: number): string[] => [
  `position ${position}`,
  `position ${position} at ${place}`,
];

/** Clicks that a wider level is worth (count): one of no offer, then of all placements. */
const clicksOfLevel = [5, 30];

/** Clicks of positions that are remembered (count). */
const rememberedClicks = 3000;

export function examinationOf(rates: Table, place: string, position: number): number {
  if (position === 1) return 1;
  let examination = 1 / Math.sqrt(position);
  for (const [level, feature] of featuresOf(place, position).entries()) {
    const slot = findSlot(rates, rates.indexOf.get(feature) ?? -1, 0);
    if (slot === -1) break;
    const clicks = clicksOfLevel[level] as number;
    examination = ((rates.first[slot] as number) + clicks) / ((rates.second[slot] as number) + clicks / examination);
  }
  return examination;
}

export const addedExaminationSlots = (rates: Table, place: string, position: number): number[] =>
  position === 1 ? [] : featuresOf(place, position).map((feature) => slotOf(rates, addFeature(rates, feature), 0));

export function countExamination(rates: Table, slots: readonly number[], successes: number, exposure: number): void {
  for (const slot of slots) addCount(rates, slot, { successes, exposure, remembered: rememberedClicks });
}
