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

/** Weight of the model's general estimate, as a number of offers, compared with the publisher's own offers. */
const assumedPeers = 2;

/** Smallest variance of the logit between offers. */
const leastVariance = 0.05 ** 2;

/**
 * Returns the estimate for a new offer of a publisher: the mean and variance of the publisher's well-known offers,
 * combined with the model's general estimate.
 */
export function peersBelief(model: RateModel, offerIds: readonly number[]): Belief {
  const general = beliefOf(model, 0);
  const peers = offerIds
    .filter((id) => hasBelief(model, id))
    .map((id) => beliefOf(model, id))
    .filter(({ variance }) => variance < general.variance / 2);
  const count = peers.length + assumedPeers;
  const sum = peers.reduce((total, { mean }) => total + mean, assumedPeers * general.mean);
  const mean = sum / count;
  const between = peers.reduce(
    (total, peer) => total + (peer.mean - mean) ** 2 - peer.variance,
    assumedPeers * general.variance,
  );
  return { mean, variance: Math.max(leastVariance, between / count) };
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
