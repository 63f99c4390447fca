import { addCount } from './rates.ts';
import { addFeature, findSlot, slotOf, type Table } from './table.ts';

/**
 * How likely an offer at a position is looked at, in comparison with the first position: pairs of clicks and of those
 * expected on the first position, everywhere and at a placement.
 */
const featuresOf = (place: string, position: number): string[] => [
  `position ${position}`,
  `position ${position} at ${place}`,
];

/** Clicks that a wider level is worth (count): one of no offer, then of all placements. */
const worth = [5, 30];

/** Clicks that are remembered (count). */
const remembered = 3000;

export function examinationOf(rates: Table, place: string, position: number): number {
  if (position === 1) return 1;
  let examination = 1 / Math.sqrt(position);
  for (const [level, feature] of featuresOf(place, position).entries()) {
    const slot = findSlot(rates, rates.indexOf.get(feature) ?? -1, 0);
    if (slot === -1) break;
    const clicks = worth[level] as number;
    examination = ((rates.first[slot] as number) + clicks) / ((rates.second[slot] as number) + clicks / examination);
  }
  return examination;
}

export const addedExaminationSlots = (rates: Table, place: string, position: number): number[] =>
  position === 1 ? [] : featuresOf(place, position).map((feature) => slotOf(rates, addFeature(rates, feature), 0));

export function countExamination(rates: Table, slots: readonly number[], successes: number, exposure: number): void {
  for (const slot of slots) addCount(rates, slot, { successes, exposure, remembered });
}
