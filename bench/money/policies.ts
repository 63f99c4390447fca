import type { Publisher } from '../../src/catalog/types.ts';
import { decide } from '../../src/decision/decide.ts';
import { mix } from '../../src/decision/random.ts';
import type { DecisionInput } from '../../src/decision/types.ts';
import { addEvent, createFits, type Fits, fitAndPublish, type LearnEvent } from '../../src/learning/fit/fit-rates.ts';
import { createModel, type Model, placeOf } from '../../src/learning/model.ts';
import { propertiesOf } from '../../src/learning/properties.ts';
import { inputOf, publisherWith } from '../../test/decision/support.ts';
import type { Asker, World } from './world.ts';

/** An impression of an offer. */
export type View = { offer: number; position: number; asker: Asker; atMs: number };

/**
 * An observed event: an impression, a click or a conversion. `outcome` is the result of an impression, whether it was
 * clicked or not.
 */
export type Notice =
  | { what: 'seen' | 'clicked' | 'converted'; view: View; atMs: number; delayMs: number }
  | { what: 'outcome'; view: View; isClick: boolean };

/** A ranking policy. */
export type Policy = {
  /** Returns the indexes of present offers, best first. */
  choose: (asker: Asker, isPresent: (offer: number) => boolean, at: number, nowMs: number) => readonly number[];
  /** Called every two seconds with the events since the previous call. */
  learn: (notices: readonly Notice[], nowMs: number) => void;
};

/** Returns the decision input that the engine uses for the same arguments as `choose`. */
type InputOf = (...parameters: Parameters<Policy['choose']>) => DecisionInput;

/** Interval at which policies learn, in milliseconds. */
export const learnEveryMs = 2000;

/** Maximum time between two fits, in milliseconds. A fit usually waits for 2% more rows. */
const longestPauseMs = 10_000;

/** Creates a policy that uses the engine's own decision and learning code, but no database. */
export function engine(world: World, seed: number): Policy & { inputOf: InputOf; fits: Fits } {
  const publishers = new Map<number, Publisher>();
  const publisherOf = (isPresent: (offer: number) => boolean): Publisher => {
    const present = world.offers.filter((_, at) => isPresent(at));
    const publisher = publishers.get(present.length) ?? publisherWith(present);
    publishers.set(present.length, publisher);
    return publisher;
  };
  let model: Model = createModel();
  const fits = createFits();
  const ids = new Map<View, number>();
  const publisher = publisherWith(world.offers);
  const idOf = (view: View): number => {
    const id = ids.get(view) ?? ids.size + 1;
    ids.set(view, id);
    return id;
  };
  const eventOf = (what: LearnEvent['what'], view: View, atMs: number, delayMs: number): LearnEvent => ({
    what,
    row: {
      id: idOf(view),
      offerId: world.offers[view.offer]?.id as number,
      place: placeOf(1, 'checkout'),
      position: view.position,
      properties: propertiesOf(inputOf(publisher, { context: { ...view.asker, nowMs: atMs } }).context, publisher),
      atMs,
    },
    delayMs: what === 'seen' ? null : delayMs,
    sale: null,
  });
  let [nextFitSize, fittedMs] = [0, 0];
  const inputAt: InputOf = (asker, isPresent, at, nowMs) =>
    inputOf(publisherOf(isPresent), {
      context: { ...asker, nowMs, count: world.positions },
      model,
      seed: mix(seed, at),
    });
  return {
    inputOf: inputAt,
    choose: (...parameters) => decide(inputAt(...parameters)).offers.map(({ offer }) => offer.id - 1),
    learn: (notices, nowMs) => {
      for (const notice of notices)
        if (notice.what !== 'outcome')
          addEvent(fits, model.sales, eventOf(notice.what, notice.view, notice.atMs, notice.delayMs));
      const { size } = fits.click.rows;
      if (size < nextFitSize && nowMs < fittedMs + longestPauseMs) return;
      [nextFitSize, fittedMs] = [size * 1.02, nowMs];
      fitAndPublish(fits, model, nowMs);
      model = { ...model, version: model.version + 1 };
    },
    fits,
  };
}

export const uniform = (world: World, seed: number): Policy => ({
  choose: (_asker, isPresent, at) => {
    const present = world.offers.map((_, offer) => offer).filter(isPresent);
    for (let k = 0; k < Math.min(world.positions, present.length); k++) {
      const other = k + (mix(seed + k, at) % (present.length - k));
      [present[k], present[other]] = [present[other] as number, present[k] as number];
    }
    return present.slice(0, world.positions);
  },
  learn: () => {},
});

/** Returns the true expected revenue of an impression in the first position, for each offer. */
export const valuesOf = (world: World, asker: Asker, at: number): number[] =>
  world.offers.map(({ campaign: { payout } }, offer) => {
    const amount = payout.amountMicros / 1_000_000;
    if (payout.kind === 'cpm') return amount / 1000;
    const clicks = world.clickRate(offer, asker, at) * amount;
    return payout.kind === 'cpc' ? clicks : clicks * world.conversionRate(offer);
  });

/** Returns the present offers with the highest values. */
export function topOf(values: readonly number[], isPresent: (offer: number) => boolean, count: number): number[] {
  const present = values.map((_, offer) => offer).filter(isPresent);
  if (count === 1)
    return [
      present.reduce((top, candidate) => ((values[candidate] as number) > (values[top] as number) ? candidate : top)),
    ];
  return present.sort((a, b) => (values[b] as number) - (values[a] as number)).slice(0, count);
}
