import type { Offer } from '../catalog/types.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { forget, rateSlots, slotsAt } from './rates.ts';
import { addFeature, setPair, slotOf, type Table } from './table.ts';

/** Successes of an offer, and those that were expected of its trials (counts). */
type Outcome = { offer: Offer; successes: number; expected: number };

/** What was counted since changes were looked for, by placement and offer id. */
export type Unchecked = Map<string, Map<number, Outcome>>;

export function addOutcome(
  unchecked: Unchecked,
  { offer, place }: { offer: Offer; place: string },
  successes: number,
  expected: number,
): void {
  const outcomes = getOrInsert(unchecked, place, () => new Map<number, Outcome>());
  const outcome = getOrInsert(outcomes, offer.id, () => ({ offer, successes: 0, expected: 0 }));
  outcome.successes += successes;
  outcome.expected += expected;
}

/**
 * Log-likelihood ratio at which a rate is taken for changed. Of offers whose rates stay, one in some 2,000 successes
 * is (bench/money, "nothing matters").
 */
const threshold = 6;

/** Successes of a changed offer that are kept (count): enough for a guess, few enough to be outvoted soon. */
const kept = 4;

/** The statistics of offers at a placement, beside their rates: for half of what is expected, and for twice as much. */
const statisticOf = (place: string): string => `change at ${place}`;

/** Offers between two pauses (count): about a millisecond of work. */
const sliceSize = 200;

/**
 * Looks for rates that changed, in what was counted since the last call (CUSUM, Page 1954): successes against those
 * expected, for a rate of half of it and of twice as much. The counts of such offers at their placement are forgotten,
 * and of those of the placement's other offers the share that they had of them all: they may have changed unseen.
 * @param offerOf an offer by its id; undefined: it is no more
 */
export function* forgetChanged(rates: Table, unchecked: Unchecked, offerOf: OfferOf): Generator<void, void> {
  let checked = 0;
  for (const [place, outcomes] of unchecked) {
    const changed = new Map<number, Offer>();
    for (const outcome of outcomes.values()) {
      if (++checked % sliceSize === 0) yield;
      if (isChanged(rates, place, outcome)) changed.set(outcome.offer.id, outcome.offer);
    }
    if (changed.size > 0) yield* forgetPlace(rates, place, changed, offerOf);
  }
  unchecked.clear();
}

type OfferOf = (id: number) => Offer | undefined;

/** Adds to the statistics of an offer; they begin anew with a change. */
function isChanged(rates: Table, place: string, { offer, successes, expected }: Outcome): boolean {
  const slot = slotOf(rates, addFeature(rates, statisticOf(place)), offer.id);
  const surprise = successes * Math.LN2;
  const less = Math.max(0, (rates.first[slot] as number) + expected / 2 - surprise);
  const more = Math.max(0, (rates.second[slot] as number) + surprise - expected);
  const changed = less > threshold || more > threshold;
  setPair(rates, slot, changed ? 0 : less, changed ? 0 : more);
  return changed;
}

function* forgetPlace(
  rates: Table,
  place: string,
  changed: ReadonlyMap<number, Offer>,
  offerOf: OfferOf,
): Generator<void, void> {
  const known = slotsAt(rates, place);
  let [all, ofChanged] = [0, 0];
  for (const [id, slot] of known) {
    const exposure = rates.second[slot] as number;
    all += exposure;
    if (changed.has(id)) ofChanged += exposure;
  }
  const leftOfOthers = 1 - ofChanged / Math.max(1, all);
  let forgotten = 0;
  for (const [id, slot] of known) {
    if (++forgotten % sliceSize === 0) yield;
    const offer = changed.get(id) ?? offerOf(id);
    if (offer === undefined) continue;
    const left = changed.has(id) ? Math.min(1, kept / Math.max(1, rates.first[slot] as number)) : leftOfOthers;
    forget(rates, offer, rateSlots(rates, offer, place), left);
  }
}
