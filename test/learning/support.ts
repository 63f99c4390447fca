import type { Offer } from '../../src/catalog/types.ts';
import { mix, uniform } from '../../src/decision/random.ts';
import { addEvent, createFits, fitAndPublish, type LearnEvent } from '../../src/learning/fit/fit-rates.ts';
import { createModel, placeOf } from '../../src/learning/model.ts';
import { propertiesOf } from '../../src/learning/properties.ts';
import { scopedRateOf, scopeOf } from '../../src/learning/score.ts';
import { contextOf } from '../decision/support.ts';

export const learningPublisher = { id: 1, timeZone: 'UTC', learningExcludedKeys: new Set<string>() };

/** Start of the simulated time, in milliseconds since the epoch. */
export const startMs = Date.UTC(2026, 10, 2, 12);

export const customProperties = (custom: Record<string, string>, device?: string) =>
  propertiesOf(
    contextOf({ custom: new Map(Object.entries(custom)), ...(device === undefined ? {} : { device }) }),
    learningPublisher,
  );

/** An impression of an offer. */
export type Showing = {
  offer: Offer;
  atMs: number;
  rate: number;
  custom?: Record<string, string>;
  device?: string | undefined;
  position?: number;
  /** Time until the click, in milliseconds. The next field is the time until the click is known. */
  delayMs?: number;
  knownAfterMs?: number;
};

/** Simulates the learner without a database, on a simulated clock. Events become known at their time or later. */
export function simulateLearner(seed = 1) {
  const [fits, model] = [createFits(), createModel()];
  const waiting: { knownMs: number; event: LearnEvent }[] = [];
  let id = 0;
  return {
    fits,
    model,
    show: (showing: Showing): void => {
      const { offer, atMs, rate, custom = {}, device, position = 1, delayMs = 1000, knownAfterMs = 0 } = showing;
      id += 1;
      const row = { id, offerId: offer.id, place: placeOf(1, 'checkout'), position, atMs };
      const properties = customProperties(custom, device);
      const event = { row: { ...row, properties }, delayMs: null, sale: null };
      waiting.push({ knownMs: atMs, event: { ...event, what: 'seen' } });
      if (uniform(mix(seed, id), 5) >= rate) return;
      const clickMs = atMs + delayMs;
      const click: LearnEvent = { what: 'clicked', row: { ...row, properties, atMs: clickMs }, delayMs, sale: null };
      if (knownAfterMs < Number.POSITIVE_INFINITY) waiting.push({ knownMs: clickMs + knownAfterMs, event: click });
    },
    /** Adds the events known by now, and fits the model. */
    learn: (nowMs: number): boolean => {
      const dueEvents = waiting.filter(({ knownMs }) => knownMs <= nowMs);
      waiting.splice(0, waiting.length, ...waiting.filter(({ knownMs }) => knownMs > nowMs));
      for (const { event } of dueEvents) addEvent(fits, model.sales, event);
      return fitAndPublish(fits, model, nowMs);
    },
    /** Returns the click rate of an offer in the first position. */
    rateOf: (offer: Offer, custom: Record<string, string> = {}) =>
      scopedRateOf(scopeOf({ ...model }, 1, 'checkout', customProperties(custom)).click, offer),
  };
}
