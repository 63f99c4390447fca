import type { Offer } from '../catalog/types.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { averageName, effectLevels, effectOf, groupOf, weightName } from './effects.ts';
import { type Model, placeOf, type RateModel } from './model.ts';
import type { Property } from './properties.ts';
import { type Rate, rateOf, rateSlots } from './rates.ts';
import { findSlot } from './table.ts';

/** Requests that are equal for a model: of one placement, and with equal properties of those that matter. */
export type Scope = { key: string; click: RateScope; conversion: RateScope };

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

export function scopeOf(
  { click, conversion }: Model,
  publisherId: number,
  placement: string,
  given: readonly Property[],
): Scope {
  const place = placeOf(publisherId, placement);
  const of = (model: RateModel): RateScope => ({
    model,
    place,
    properties: given.filter(({ key }) => matters(model, key)),
    features: new Map(),
  });
  const scopes = { click: of(click), conversion: of(conversion) };
  const properties = new Set([...scopes.click.properties, ...scopes.conversion.properties]);
  return { key: JSON.stringify([place, ...[...properties].map(({ key, value }) => [key, value])]), ...scopes };
}

const matters = ({ effects }: RateModel, key: string): boolean =>
  effectLevels.some(({ name }) => (effects.priors.get(groupOf(name, key)) ?? 0) >= leastPrior);

/** The distribution of an offer's rate for a scope, on the first position. */
export function scopedRateOf(scope: RateScope, offer: Offer): Rate {
  const { model, place } = scope;
  const { mean, shape } = rateOf(model.rates, rateSlots(model.rates, offer, place), model.startRate);
  const effect = { mean: 0, variance: 0 };
  for (const one of effectsOf(scope, offer)) {
    effect.mean += one.mean;
    effect.variance += one.variance;
  }
  return { mean: mean * Math.exp(effect.mean), shape: 1 / (1 / shape + effect.variance) };
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
