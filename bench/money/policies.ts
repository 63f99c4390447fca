import type { Publisher } from '../../src/catalog/types.ts';
import { decide } from '../../src/decision/decide.ts';
import { mix } from '../../src/decision/random.ts';
import type { DecisionInput } from '../../src/decision/types.ts';
import { noteDelay, sharesOf } from '../../src/learning/delays.ts';
import {
  createModel,
  estimateAllPriors,
  forgetChangedRates,
  learn,
  type Model,
  placeOf,
  type Shown,
} from '../../src/learning/model.ts';
import { propertiesOf } from '../../src/learning/properties.ts';
import { runAtOnce } from '../../src/platform/lib/slices.ts';
import { inputOf, publisherWith } from '../../test/decision/support.ts';
import type { Asker, World } from './world.ts';

/** An offer that was shown. */
export type View = { offer: number; position: number; asker: Asker; atMs: number };

/** What is noticed: an offer was seen, a click, a conversion. `outcome`: that of a view, also where no click comes. */
export type Notice =
  | { what: 'seen' | 'clicked' | 'converted'; view: View; atMs: number; delayMs: number }
  | { what: 'outcome'; view: View; isClick: boolean };

/** A way to order offers. */
export type Policy = {
  /** Offers, best first, of those from 0 that take part. */
  choose: (asker: Asker, isPresent: (offer: number) => boolean, at: number, nowMs: number) => readonly number[];
  /** Called each two seconds with what was noticed since. */
  learn: (notices: readonly Notice[], nowMs: number) => void;
};

/** What the engine decides of, for the same answer as `choose`. */
type InputOf = (...asked: Parameters<Policy['choose']>) => DecisionInput;

/** How often policies learn (milliseconds). */
export const learnEveryMs = 2000;

/** The engine: its own code decides and learns; only the database is left out. */
export function engine(world: World, seed: number): Policy & { inputOf: InputOf } {
  const publishers = new Map<number, Publisher>();
  const publisherOf = (isPresent: (offer: number) => boolean): Publisher => {
    const present = world.offers.filter((_, at) => isPresent(at));
    const known = publishers.get(present.length) ?? publisherWith(present);
    publishers.set(present.length, known);
    return known;
  };
  let model: Model = createModel();
  const due = new Map<number, { kind: 'seen' | 'awaited'; shown: Shown; age: number }[]>();
  let trials = 0;
  let nextPriors = 100;

  function schedule(kind: 'seen' | 'awaited', shown: Shown, age: number, nowMs: number): void {
    const { agesMs } = kind === 'seen' ? model.click.delays : model.conversion.delays;
    const shares = sharesOf(kind === 'seen' ? model.click.delays : model.conversion.delays);
    learn(model, kind, shown, shares[age]);
    const next = agesMs[age + 1];
    if (next === undefined) return;
    const tick = Math.ceil((nowMs + next - (agesMs[age] as number)) / learnEveryMs);
    due.set(tick, [...(due.get(tick) ?? []), { kind, shown, age: age + 1 }]);
  }

  const publisher = publisherWith(world.offers);
  const shownOf = ({ offer, position, asker, atMs }: View): Shown => ({
    offer: world.offers[offer] as Shown['offer'],
    place: placeOf(1, 'checkout'),
    position,
    properties: propertiesOf(inputOf(publisher, { context: { ...asker, nowMs: atMs } }).context, publisher),
  });
  const inputAt: InputOf = (asker, isPresent, at, nowMs) =>
    inputOf(publisherOf(isPresent), {
      context: { ...asker, nowMs, count: world.positions },
      model,
      seed: mix(seed, at),
    });
  return {
    inputOf: inputAt,
    choose: (...asked) => decide(inputAt(...asked)).offers.map(({ offer }) => offer.id - 1),
    learn: (notices, nowMs) => {
      const tick = Math.floor(nowMs / learnEveryMs);
      for (const [at, list] of due) {
        if (at > tick) continue;
        due.delete(at);
        for (const { kind, shown, age } of list) schedule(kind, shown, age, nowMs);
      }
      for (const notice of notices) {
        if (notice.what === 'outcome') continue;
        const shown = shownOf(notice.view);
        if (notice.what === 'seen') {
          schedule('seen', shown, 0, nowMs);
          trials += 1;
        } else {
          learn(model, notice.what, shown);
          noteDelay(model[notice.what === 'clicked' ? 'click' : 'conversion'].delays, notice.delayMs);
          if (notice.what === 'clicked') schedule('awaited', shown, 0, nowMs);
        }
      }
      runAtOnce(forgetChangedRates(model, (id) => world.offers[id - 1]));
      if (trials >= nextPriors) {
        nextPriors = Math.min(2 * trials, trials + 1000);
        runAtOnce(estimateAllPriors(model));
      }
      model = { ...model, version: model.version + 1 };
    },
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

export function best(world: World): Policy {
  return {
    choose: (asker, isPresent, at) => {
      const value = valuesOf(world, asker, at);
      return topOf(value, isPresent, world.positions);
    },
    learn: () => {},
  };
}

/** True revenue of an impression of each offer on the first position. */
export const valuesOf = (world: World, asker: Asker, at: number): number[] =>
  world.offers.map(({ campaign: { payout } }, offer) => {
    const amount = payout.amountMicros / 1_000_000;
    if (payout.kind === 'cpm') return amount / 1000;
    const clicks = world.clickRate(offer, asker, at) * amount;
    return payout.kind === 'cpc' ? clicks : clicks * world.conversionRate(offer);
  });

/** The offers of the highest values. */
export function topOf(values: readonly number[], isPresent: (offer: number) => boolean, count: number): number[] {
  const present = values.map((_, offer) => offer).filter(isPresent);
  if (count === 1)
    return [present.reduce((top, one) => ((values[one] as number) > (values[top] as number) ? one : top))];
  return present.sort((a, b) => (values[b] as number) - (values[a] as number)).slice(0, count);
}
