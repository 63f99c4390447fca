import type { Offer } from '../catalog/types.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { averageName, bounded, effectLevels, effectOf, groupOf, keyOf, weightName } from './model/effects.ts';
import { allFeature, offerFeature, ownLevel, placeFeature, sharedLevel } from './model/logistic-features.ts';
import { exposureOf, highRateOf, type Rate, rateOf, rateSlots } from './model/rates.ts';
import { findSlot, type Table } from './model/table.ts';
import { type Model, placeOf, type RateModel } from './model.ts';
import { type LearningContext, type LearningPublisher, type Property, propertiesOf } from './properties.ts';

/** Requests that are equal for a model: of one placement, and with equal properties of those that matter. */
export type Scope = { click: RateScope; conversion: RateScope };

/** A rate at a placement for a request. */
export type RateScope = {
  model: RateModel;
  place: string;
  properties: readonly Property[];
  /** The features that apply, by level and its part; found once. */
  features: Map<string, readonly Feature[]>;
};

type Feature = { property: Property; weight: number; average: number; prior: number };

/** Properties whose effects vary less than this are left out (variance of the logarithm: 3 %). */
const leastPrior = 1e-3;

type Keys = ReadonlySet<string>;
const keysOfModels = new WeakMap<Model, { click: Keys; conversion: Keys; all: Keys }>();

/** The keys of the properties that matter for a version of the model. */
const keysOf = (model: Model) =>
  getOrInsert(keysOfModels, model, () => {
    const [click, conversion] = [keysThatMatter(model.click), keysThatMatter(model.conversion)];
    return { click, conversion, all: new Set([...click, ...conversion]) };
  });

const keysThatMatter = ({ effects }: RateModel): Keys =>
  new Set([...effects.priors].filter(([, prior]) => prior >= leastPrior).map(([group]) => keyOf(group)));

/** The properties of a request that matter for a model. */
export const relevantProperties = (model: Model, context: LearningContext, publisher: LearningPublisher): Property[] =>
  propertiesOf(context, publisher, keysOf(model).all);

/** Text that is equal for requests of one scope. @param properties from `relevantProperties` */
export function scopeKeyOf(placement: string, properties: readonly Property[]): string {
  let key = placement;
  for (const { key: name, value } of properties) key += `\n${name.length} ${name}${value.length} ${value}`;
  return key;
}

/** @param properties from `relevantProperties` */
export function scopeOf(model: Model, publisherId: number, placement: string, properties: readonly Property[]): Scope {
  const keys = keysOf(model);
  const of = (rate: RateModel, wanted: Keys): RateScope => ({
    model: rate,
    place: placeOf(publisherId, placement),
    properties: properties.filter(({ key }) => wanted.has(key)),
    features: new Map(),
  });
  return { click: of(model.click, keys.click), conversion: of(model.conversion, keys.conversion) };
}

/** Part of the variance of rates that decisions sample: less explores less (docs/adr/0025-learn-by-context.md). */
export const sampledPart = 0.5;

/** Part of the variance of attributes that is sampled, next to that of offers: more explores for too long. */
const attributePart = 0.5;

/** The distribution of an offer's rate for a scope, on the first position, and what it may be at most. */
export function scopedRateOf(scope: RateScope, offer: Offer): Rate & { high: number } {
  const { model, place } = scope;
  const effect = { mean: 0, variance: 0 };
  for (const one of effectsOf(scope, offer)) {
    effect.mean += one.mean;
    effect.variance += one.variance;
  }
  if (!model.isLogistic) return earlierRateOf(model, place, offer, effect);
  const rate = rateOfLogit(logitOf(model, offer, place), effect);
  return { ...rate, high: highRateOf(model.rates, offer, Number.POSITIVE_INFINITY, rate) };
}

/** The rate of a normal distribution of logits, as a Gamma distribution of about the same mean and variance. */
function rateOfLogit(logit: Moments, effect: Moments): Rate {
  const mean = 1 / (1 + Math.exp(-(logit.mean + effect.mean)));
  return { mean, shape: 1 / ((1 - mean) ** 2 * (logit.variance + attributePart * effect.variance) + 1e-9) };
}

type Moments = { mean: number; variance: number };

const firstOf = ({ first, slots, indexOf }: Table, feature: string): number => {
  const slot = slots[indexOf.get(feature) ?? -1]?.get(0);
  return slot === undefined ? 0 : (first[slot] as number);
};

/** The logit of an offer at a placement, without the effects of properties. */
function logitOf({ rates, startRate }: RateModel, { id }: Offer, place: string): Moments {
  const { indexOf, slots, first, second } = rates;
  const all = slots[indexOf.get(allFeature) ?? -1]?.get(0);
  const start = Math.log(startRate / (1 - startRate));
  const [base, unknown] = all === undefined ? [start, 1] : [first[all] as number, second[all] as number];
  const own = slots[indexOf.get(offerFeature) ?? -1]?.get(id);
  const mean = base + firstOf(rates, placeFeature(place));
  return own === undefined
    ? { mean, variance: unknown }
    : { mean: mean + (first[own] as number), variance: second[own] as number };
}

function earlierRateOf(
  { rates, startRate }: RateModel,
  place: string,
  offer: Offer,
  effect: Moments,
): Rate & { high: number } {
  const slots = rateSlots(rates, offer, place);
  const { mean, shape } = rateOf(rates, slots, startRate);
  const rate = { mean: mean * Math.exp(bounded(effect.mean)), shape: 1 / (1 / shape + effect.variance) };
  return { ...rate, high: earlierHighRateOf(rates, offer, slots, rate) };
}

function earlierHighRateOf(rates: Table, offer: Offer, slots: readonly number[], rate: Rate): number {
  const exposure = exposureOf(rates, slots);
  return exposure === null ? 1 : highRateOf(rates, offer, exposure, rate);
}

/** What the rates of an offer may be at most, at any placement: 1 until it is proven. */
export type HighRates = { click: number; conversion: number };

export const highRatesOf = ({ click, conversion }: Model, offer: Offer): HighRates => ({
  click: highRateAnywhere(click, offer),
  conversion: highRateAnywhere(conversion, offer),
});

function highRateAnywhere(model: RateModel, offer: Offer): number {
  const { rates, startRate } = model;
  const noEffect = { mean: 0, variance: 0 };
  if (model.isLogistic)
    return highRateOf(rates, offer, Number.POSITIVE_INFINITY, rateOfLogit(logitOf(model, offer, ''), noEffect));
  const slots = rateSlots(rates, offer, '');
  return earlierHighRateOf(rates, offer, slots, rateOf(rates, slots, startRate));
}

/** Effect of a property on an offer's rate: mean and variance, of the logit or (earlier releases) of its logarithm. */
export type Effect = { property: Property; mean: number; variance: number };

/** The effects of the properties of a scope on an offer's rate. */
export const effectsOf = (scope: RateScope, offer: Offer): Effect[] =>
  scope.model.isLogistic ? logisticEffectsOf(scope, offer) : earlierEffectsOf(scope, offer);

/** Effects that all offers share, and those of the offer only. */
const logisticLevels = [
  { name: sharedLevel, entity: () => 0, isSampled: false },
  { name: ownLevel, entity: ({ id }: Offer) => id, isSampled: true },
];

function logisticEffectsOf(scope: RateScope, offer: Offer): Effect[] {
  const { first, second, slots } = scope.model.effects.weights;
  const effects: Effect[] = [];
  for (const { name, entity, isSampled } of logisticLevels)
    for (const { property, weight, prior } of featuresOf(scope, name, '')) {
      if (prior < leastPrior) continue;
      const slot = slots[weight]?.get(entity(offer));
      const [mean, variance] = slot === undefined ? [0, prior] : [first[slot] as number, second[slot] as number];
      effects.push({ property, mean, variance: isSampled ? variance : 0 });
    }
  return effects;
}

function earlierEffectsOf(scope: RateScope, offer: Offer): Effect[] {
  const { weights } = scope.model.effects;
  const effects: Effect[] = [];
  for (const level of effectLevels) {
    const entity = level.entity(offer);
    for (const { property, prior, ...feature } of featuresOf(scope, level.name, level.part(offer))) {
      const average = findSlot(weights, feature.average, entity);
      if (average === -1) {
        effects.push({ property, mean: 0, variance: prior });
        continue;
      }
      const weight = findSlot(weights, feature.weight, entity);
      const { mean, variance, input } =
        weight === -1
          ? { mean: -(weights.first[average] as number), variance: prior, input: 1 }
          : effectOf(weights, { weight, average, prior });
      effects.push({ property, mean, variance: input * input * variance });
    }
  }
  return effects;
}

function featuresOf({ model, properties, features }: RateScope, level: string, part: string): readonly Feature[] {
  const { weights, priors } = model.effects;
  return getOrInsert(features, `${level} ${part}`, () =>
    properties.flatMap((property) => {
      const prior = priors.get(groupOf(level, property.key)) ?? 0;
      const weight = weights.indexOf.get(weightName(level, part, property)) ?? -1;
      const average = weights.indexOf.get(averageName(level, part, property.key)) ?? -1;
      return prior === 0 ? [] : [{ property, weight, average, prior }];
    }),
  );
}
