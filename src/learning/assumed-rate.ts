import { widened } from './fit/publish.ts';
import { allFeature, offerFeature } from './model/logistic-features.ts';
import { addFeature, setPair, slotOf, type Table } from './model/table.ts';
import type { Model, RateModel } from './model.ts';
import { sampledPart } from './score.ts';

/** Normal distribution of the logit of a rate. */
export type Belief = { mean: number; variance: number };

export type RateKind = 'click' | 'conversion';

/**
 * Returns a model's estimate of an offer's rate, without property effects. Published means are raised for uncertain
 * offers, so that decisions try them. This function returns the estimate before that raise. Models of earlier releases
 * have no logits. For these, it returns the start rate with a wide variance.
 */
export function beliefOf({ rates, startRate, isLogistic }: RateModel, offerId: number): Belief {
  const start = Math.log(startRate / (1 - startRate));
  const all = pairOf(rates, allFeature, 0);
  if (!isLogistic || all === null) return { mean: start, variance: 1 };
  const own = pairOf(rates, offerFeature, offerId);
  const mean = all[0] + (own?.[0] ?? 0);
  return narrowed(mean, own?.[1] ?? all[1]);
}

/** Whether a model has learned anything about an offer's rate. */
export const hasBelief = ({ rates, isLogistic }: RateModel, offerId: number): boolean =>
  isLogistic && pairOf(rates, offerFeature, offerId) !== null;

/** Standard deviations of the logit that are considered possible between the offers of a publisher. */
const spreads = [0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1];

/** Smallest precision of an offer's own events at which the offer is compared with others. */
const leastPrecision = 1e-3;

/**
 * Returns the estimate for a new offer of a publisher, based on the mean and the spread of the publisher's offers. Even
 * offers with few events count according to their precision. Otherwise, offers that did well, and were therefore shown
 * more often, would raise the estimate.
 */
export function peersBelief(model: RateModel, offerIds: readonly number[]): Belief {
  const general = beliefOf(model, 0);
  // The estimate of each offer from its own events alone.
  const peers = offerIds.flatMap((id): Belief[] => {
    if (!hasBelief(model, id)) return [];
    const { mean, variance } = beliefOf(model, id);
    const precision = 1 / variance - 1 / general.variance;
    if (precision < leastPrecision) return [];
    return [{ mean: (mean / variance - general.mean / general.variance) / precision, variance: 1 / precision }];
  });
  const possible = spreads.map((spread) => {
    let [precision, mean, evidence] = [1 / general.variance, general.mean, 0];
    for (const peer of peers) {
      const variance = peer.variance + spread ** 2;
      const predicted = variance + 1 / precision;
      evidence -= Math.log(predicted) / 2 + (peer.mean - mean) ** 2 / predicted / 2;
      precision += 1 / variance;
      mean += (peer.mean - mean) / variance / precision;
    }
    return { mean, variance: spread ** 2 + 1 / precision, evidence };
  });
  const highest = Math.max(...possible.map(({ evidence }) => evidence));
  const weighted = possible.map((belief) => ({ ...belief, weight: Math.exp(belief.evidence - highest) }));
  const total = weighted.reduce((sum, { weight }) => sum + weight, 0);
  const mean = weighted.reduce((sum, belief) => sum + belief.weight * belief.mean, 0) / total;
  const variance = weighted.reduce(
    (sum, belief) => sum + belief.weight * (belief.variance + (belief.mean - mean) ** 2),
    0,
  );
  return { mean, variance: variance / total };
}

/** Returns a copy of a model with different rate estimates for offers. */
export function withBelief(model: Model, offerIds: readonly number[], beliefs: Record<RateKind, Belief>): Model {
  const changed = (kind: RateKind): RateModel => {
    const rates = copyOf(model[kind].rates);
    const all = pairOf(rates, allFeature, 0);
    const start = Math.log(model[kind].startRate / (1 - model[kind].startRate));
    if (all === null) setPair(rates, slotOf(rates, addFeature(rates, allFeature), 0), start, 1);
    const [mean, variance] = widened(beliefs[kind].mean, beliefs[kind].variance);
    for (const id of offerIds)
      setPair(rates, slotOf(rates, addFeature(rates, offerFeature), id), mean - (all?.[0] ?? start), variance);
    return { ...model[kind], isLogistic: true, rates };
  };
  return model.click.isLogistic
    ? { ...model, click: changed('click'), conversion: changed('conversion') }
    : { ...model };
}

function pairOf({ slots, indexOf, first, second }: Table, feature: string, entity: number): [number, number] | null {
  const slot = slots[indexOf.get(feature) ?? -1]?.get(entity);
  return slot === undefined ? null : [first[slot] as number, second[slot] as number];
}

/** Reverses the adjustment of published means and variances (`widened` in fit/publish.ts). */
function narrowed(mean: number, variance: number): Belief {
  const rate = 1 / (1 + Math.exp(-mean));
  const ofLogarithm = Math.max(1e-12, (1 - rate) ** 2);
  const own = Math.log1p(ofLogarithm * variance) / ofLogarithm;
  return { mean: mean - (sampledPart * own * (1 - 2 * rate)) / 2, variance: own };
}

const copyOf = (table: Table): Table => ({
  ...table,
  features: [...table.features],
  indexOf: new Map(table.indexOf),
  slots: table.slots.map((slots, feature) =>
    table.features[feature] === offerFeature || table.features[feature] === allFeature ? new Map(slots) : slots,
  ),
  featureOf: table.featureOf.slice(),
  entityOf: table.entityOf.slice(),
  first: table.first.slice(),
  second: table.second.slice(),
  changed: null,
});
