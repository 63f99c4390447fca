import type { Offer } from '../catalog/types.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { averageName, bounded, effectLevels, effectOf, groupOf, keyOf, weightName } from './effects.ts';
import { type Model, placeOf, type RateModel } from './model.ts';
import { type LearningContext, type LearningPublisher, type Property, propertiesOf } from './properties.ts';
import { highRateOf, type Rate, rateOf, rateSlots } from './rates.ts';
import { findSlot } from './table.ts';

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

/** The distribution of an offer's rate for a scope, on the first position, and what it may be at most. */
export function scopedRateOf(scope: RateScope, offer: Offer): Rate & { high: number } {
  const { model, place } = scope;
  const slots = rateSlots(model.rates, offer, place);
  const { mean, shape } = rateOf(model.rates, slots, model.startRate);
  const effect = { mean: 0, variance: 0 };
  for (const one of effectsOf(scope, offer)) {
    effect.mean += one.mean;
    effect.variance += one.variance;
  }
  const rate = { mean: mean * Math.exp(bounded(effect.mean)), shape: 1 / (1 / shape + effect.variance) };
  return { ...rate, high: highRateOf(model.rates, offer, slots, rate) };
}

/** What the rates of an offer may be at most, at any placement: 1 until it is proven. */
export type HighRates = { click: number; conversion: number };

export const highRatesOf = ({ click, conversion }: Model, offer: Offer): HighRates => ({
  click: highRateAnywhere(click, offer),
  conversion: highRateAnywhere(conversion, offer),
});

function highRateAnywhere({ rates, startRate }: RateModel, offer: Offer): number {
  const slots = rateSlots(rates, offer, '');
  return highRateOf(rates, offer, slots, rateOf(rates, slots, startRate));
}

/** The effects of the properties on an offer's rate: mean and variance of its logarithm. */
export function effectsOf(scope: RateScope, offer: Offer): Effect[] {
  const { weights } = scope.model.effects;
  const found: Effect[] = [];
  for (const level of effectLevels) {
    const entity = level.entity(offer);
    for (const { property, prior, ...feature } of featuresOf(scope, level.name, level.part(offer))) {
      const average = findSlot(weights, feature.average, entity);
      if (average === -1) {
        found.push({ property, mean: 0, variance: prior });
        continue;
      }
      const weight = findSlot(weights, feature.weight, entity);
      const { mean, variance, input } =
        weight === -1
          ? { mean: -(weights.first[average] as number), variance: prior, input: 1 }
          : effectOf(weights, { weight, average, prior });
      found.push({ property, mean, variance: input * input * variance });
    }
  }
  return found;
}

export type Effect = { property: Property; mean: number; variance: number };

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
