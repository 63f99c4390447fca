import type { Offer } from '../catalog/types.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { averageName, bounded, effectLevels, effectOf, groupOf, keyOf, weightName } from './model/effects.ts';
import { allFeature, offerFeature, ownLevel, placeFeature, sharedLevel } from './model/logistic-features.ts';
import { exposureOf, highRateOf, type Rate, rateOf, rateSlots } from './model/rates.ts';
import { findSlot, type Table } from './model/table.ts';
import { type Model, placeOf, type RateModel } from './model.ts';
import { type LearningContext, type LearningPublisher, type Property, propertiesOf } from './properties.ts';

/**
 * Click rate and conversion rate scopes of a request. For the model, all requests with the same placement and the same
 * relevant properties are alike.
 */
export type Scope = { click: RateScope; conversion: RateScope };

/** Inputs for predicting the click rate or conversion rate of a request at a placement. */
export type RateScope = {
  model: RateModel;
  place: string;
  properties: readonly Property[];
  /** Cached features that apply to the request, by effect level and part. */
  features: Map<string, readonly Feature[]>;
};

type Feature = { property: Property; weight: number; average: number; prior: number };

/**
 * Prior variance below which a property is ignored. It applies to the logarithm, so it corresponds to effects of about
 * 3%.
 */
const leastPrior = 1e-3;

type Keys = ReadonlySet<string>;
const keysOfModels = new WeakMap<Model, { click: Keys; conversion: Keys; all: Keys }>();

/** Returns the property keys that are relevant in a model version. */
const keysOf = (model: Model) =>
  getOrInsert(keysOfModels, model, () => {
    const [click, conversion] = [keysThatMatter(model.click), keysThatMatter(model.conversion)];
    return { click, conversion, all: new Set([...click, ...conversion]) };
  });

const keysThatMatter = ({ effects }: RateModel): Keys =>
  new Set([...effects.priors].filter(([, prior]) => prior >= leastPrior).map(([group]) => keyOf(group)));

/** Returns those properties of a request that are relevant to a model. */
export const relevantProperties = (model: Model, context: LearningContext, publisher: LearningPublisher): Property[] =>
  propertiesOf(context, publisher, keysOf(model).all);

/**
 * Returns a cache key for the scope of a request. All requests with the same scope have the same key.
 * @param properties result of `relevantProperties`
 */
export function scopeKeyOf(placement: string, properties: readonly Property[]): string {
  let key = placement;
  for (const { key: name, value } of properties) key += `\n${name.length} ${name}${value.length} ${value}`;
  return key;
}

/**
 * Returns the scope of a request.
 * @param properties result of `relevantProperties`
 */
export function scopeOf(model: Model, publisherId: number, placement: string, properties: readonly Property[]): Scope {
  const keys = keysOf(model);
  const of = (rate: RateModel, relevantKeys: Keys): RateScope => ({
    model: rate,
    place: placeOf(publisherId, placement),
    properties: properties.filter(({ key }) => relevantKeys.has(key)),
    features: new Map(),
  });
  return { click: of(model.click, keys.click), conversion: of(model.conversion, keys.conversion) };
}

/**
 * Fraction of the rate variance that decisions sample. A lower value explores less (docs/adr/0025-learn-by-context.md).
 */
export const sampledPart = 0.5;

/**
 * Fraction of the variance of property effects to sample, in addition to the offer's own variance. A higher value would
 * extend exploration for too long.
 */
const attributePart = 0.5;

/** Returns the distribution of an offer's rate at the first position for a scope, with an upper bound for the rate. */
export function scopedRateOf(scope: RateScope, offer: Offer): Rate & { high: number } {
  const { model, place } = scope;
  const effect = { mean: 0, variance: 0 };
  for (const term of effectsOf(scope, offer)) {
    effect.mean += term.mean;
    effect.variance += term.variance;
  }
  if (!model.isLogistic) return earlierRateOf(model, place, offer, effect);
  const rate = rateOfLogit(logitOf(model, offer, place), effect);
  return { ...rate, high: highRateOf(model.rates, offer, Number.POSITIVE_INFINITY, rate) };
}

/**
 * Converts a normal distribution of logits to a Gamma distribution of the rate with about the same mean and variance.
 */
function rateOfLogit(logit: Moments, effect: Moments): Rate {
  const mean = 1 / (1 + Math.exp(-(logit.mean + effect.mean)));
  return { mean, shape: 1 / ((1 - mean) ** 2 * (logit.variance + attributePart * effect.variance) + 1e-9) };
}

type Moments = { mean: number; variance: number };

const firstOf = ({ first, slots, indexOf }: Table, feature: string): number => {
  const slot = slots[indexOf.get(feature) ?? -1]?.get(0);
  return slot === undefined ? 0 : (first[slot] as number);
};

/** Returns the logit of an offer's rate at a placement, without property effects. */
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

/**
 * Upper bounds for an offer's click and conversion rates across all placements. They are 1 until the offer is proven.
 */
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

/**
 * Effect of a property on an offer's rate: mean and variance of the change in the logit. In models of earlier releases,
 * it is the change in the logarithm of the rate instead.
 */
export type Effect = { property: Property; mean: number; variance: number };

/** Returns the effects of a scope's properties on an offer's rate. */
export const effectsOf = (scope: RateScope, offer: Offer): Effect[] =>
  scope.model.isLogistic ? logisticEffectsOf(scope, offer) : earlierEffectsOf(scope, offer);

/** Effect levels: effects shared by all offers, and effects of a single offer. */
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
