import type { Offer } from '../catalog/types.ts';
import { addOutcome, forgetChanged, type Unchecked } from './changes.ts';
import { createDelays, type Delays } from './delays.ts';
import {
  addedTerms,
  bounded,
  type Effects,
  effectOf,
  learnEffectsOfSuccess,
  learnEffectsOfTrial,
  type Term,
} from './effects.ts';
import { allowed, type KeyValues } from './keys.ts';
import { estimatePriors } from './priors.ts';
import type { Property } from './properties.ts';
import { addedExaminationSlots, addedRateSlots, count, countExamination, examinationOf, rateOf } from './rates.ts';
import { createTable, type Table } from './table.ts';

/** One rate: clicks of impressions, or conversions of clicks. */
export type RateModel = {
  /** Where nothing is known. */
  startRate: number;
  /** Of offers, by counting; for clicks, also of positions. */
  rates: Table;
  /** What properties of the request change. */
  effects: Effects;
  /** From a trial to its success. */
  delays: Delays;
  /** Of the run that learns; not part of a version. */
  unchecked: Unchecked;
};

/**
 * What the ranking knows. Each version is an object of its own, so that what is derived from one is kept by it; what
 * they hold is shared, and changes when the next version is taken over.
 */
export type Model = {
  /** 0: nothing is learned. */
  version: number;
  /** Clicks of impressions, on the first position. */
  click: RateModel;
  /** Conversions of clicks. */
  conversion: RateModel;
  /** Sales by campaign id, for `cps`. */
  sales: Map<number, Sales>;
  /** Requests of publishers by hour of the week. */
  traffic: Table;
  /** Values of custom attributes that were learned from. */
  keyValues: KeyValues;
};

/** Value of all sales in millionths, and their number. */
export type Sales = { micros: number; count: number };

/** Nothing is known: 1 click in 50 impressions, 1 conversion in 20 clicks. */
export const createModel = (): Model => ({
  version: 0,
  click: createRateModel(1 / 50, 'click'),
  conversion: createRateModel(1 / 20, 'conversion'),
  sales: new Map(),
  traffic: createTable(),
  keyValues: new Map(),
});

const createRateModel = (startRate: number, kind: 'click' | 'conversion'): RateModel => ({
  startRate,
  rates: createTable(),
  effects: { weights: createTable(), priors: new Map() },
  delays: createDelays(kind),
  unchecked: new Map(),
});

export const emptyModel: Model = createModel();

/** An offer that was shown, and to whom. */
export type Shown = {
  offer: Offer;
  /** As `placeOf` names it. */
  place: string;
  /** From 1. */
  position: number;
  properties: readonly Property[];
};

/** The placement of a publisher. */
export const placeOf = (publisherId: number, placement: string): string => `${publisherId} ${placement}`;

/** What happened: an offer was seen or clicked; after a click, one waits for a conversion (`awaited`), or it came. */
export type Happening = 'seen' | 'clicked' | 'awaited' | 'converted';

/**
 * Takes in what happened. A click is a success of the trial that being seen is, a conversion of that of being awaited;
 * trials and successes are counted apart, in any order.
 * @param share of a trial: the part of its successes that would have come by now, less what was taken in before
 */
export function learn(model: Model, happening: Happening, shown: Shown, share = 1): void {
  const isClick = happening === 'seen' || happening === 'clicked';
  const { startRate, rates, effects, unchecked } = isClick ? model.click : model.conversion;
  const { keyValues, click, conversion } = model;
  const properties = allowed({ keyValues, effects: [click.effects, conversion.effects] }, shown.properties);
  const terms = addedTerms(effects, shown.offer, properties);
  const slots = addedRateSlots(rates, shown.offer, shown.place);
  const positions = isClick ? addedExaminationSlots(rates, shown.place, shown.position) : [];
  if (happening === 'clicked' || happening === 'converted') {
    count(rates, slots, 1, 0);
    addOutcome(unchecked, shown, 1, 0);
    countExamination(rates, positions, 1, 0);
    learnEffectsOfSuccess(effects, terms);
    return;
  }
  const change = Math.exp(meanEffect(effects.weights, terms));
  const examination = isClick ? examinationOf(rates, shown.place, shown.position) : 1;
  const rate = Math.min(1, rateOf(rates, slots, startRate).mean * change);
  count(rates, slots, 0, share * examination * change);
  countExamination(rates, positions, 0, share * rate);
  const expected = share * rate * examination;
  learnEffectsOfTrial(effects, terms, expected);
  addOutcome(unchecked, shown, 0, expected);
}

const meanEffect = (weights: Table, terms: readonly Term[]): number =>
  bounded(terms.reduce((sum, term) => sum + effectOf(weights, term).mean, 0));

/**
 * Forgets rates that changed (`forgetChanged`). To be run in slices after each run, when successes and trials of the
 * same time are in. @param offerOf an offer by its id; undefined: it is no more
 */
export function* forgetChangedRates(
  { click, conversion }: Model,
  offerOf: (id: number) => Offer | undefined,
): Generator<void, void> {
  for (const { rates, unchecked } of [click, conversion]) yield* forgetChanged(rates, unchecked, offerOf);
}

/** Estimates how much properties matter, from all that is learned. To be run in slices. */
export function* estimateAllPriors({ click, conversion }: Model): Generator<void, void> {
  for (const { effects } of [click, conversion]) yield* estimatePriors(effects);
}
