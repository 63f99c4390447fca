import { groupOf, weightName } from '../model/effects.ts';
import { allFeature, offerFeature, ownLevel, placeFeature, sharedLevel } from '../model/logistic-features.ts';
import { agedFeature } from '../model/rates.ts';
import { addFeature, setPair, slotOf, type Table } from '../model/table.ts';
import type { RateModel } from '../model.ts';
import { sampledPart } from '../score.ts';
import { bucketCount, type Fit } from './fit.ts';
import type { Block, Column, Rows } from './rows.ts';

/**
 * Smallest changes that are published: the absolute change of a mean, and the relative change of a variance or count.
 */
const [leastMove, leastPart] = [0.01, 0.05];

/** Prior variance that is stored for a group without an effect. It can't be 0, because 0 marks a closed group. */
const noisePrior = Math.fround(1e-5);

/** Publishes the changed values of a fit to the model that decisions use. */
export function publish(model: RateModel, rows: Rows, fit: Fit, provenSinceMs: number): void {
  const { rates, effects } = model;
  const base = fit.startLogit + (fit.intercept.means[0] as number);
  const unknown = widened(base, fit.offers.variance + fit.recency.variance);
  const offer = (at: number): [number, number] => {
    const [own, ownVariance] = posteriorOf(fit.offers, at);
    const [recent, recentVariance] = posteriorOf(fit.recency, at * bucketCount);
    const [mean, variance] = widened(base + own + recent, ownVariance + recentVariance);
    return [mean - unknown[0], variance];
  };
  set(rates, allFeature, 0, unknown);
  const offers = addFeature(rates, offerFeature);
  for (const [at, id] of rows.offerIds.entries()) setAt(rates, slotOf(rates, offers, id), offer(at));
  for (const [name, at] of rows.placeIndex) {
    const place = rows.positions[at] === 1 ? name.slice(2) : null;
    if (place !== null) set(rates, placeFeature(place), 0, [fit.places.means[at] ?? 0, 0]);
  }
  publishAged(rates, rows, provenSinceMs);
  for (const column of rows.columns.values())
    if (!rows.closedKeys.has(column.key)) publishColumn(effects, rows, column);
  for (const key of rows.closedKeys)
    for (const level of [sharedLevel, ownLevel]) effects.priors.set(groupOf(level, key), 0);
}

/**
 * Adjusts the mean and variance of a logit, so that the Gamma distribution from which decisions sample is as wide as
 * the log-normal distribution of the rate. The mean is raised for uncertain offers. Otherwise, an offer with a bad
 * start would hardly ever be tried again.
 */
export function widened(mean: number, variance: number): [number, number] {
  const rate = 1 / (1 + Math.exp(-mean));
  const ofLogarithm = Math.max(1e-12, (1 - rate) ** 2);
  return [mean + (sampledPart * variance * (1 - 2 * rate)) / 2, Math.expm1(ofLogarithm * variance) / ofLogarithm];
}

/** Returns the posterior mean and variance of a cell. */
const posteriorOf = ({ means, infos, variance }: Block, cell: number): [number, number] =>
  variance === 0
    ? [0, 0]
    : cell >= means.length
      ? [0, variance]
      : [means[cell] as number, 1 / ((infos[cell] as number) + 1 / variance)];

/**
 * Publishes two counts per offer: its successes, and its trials that are old enough for most of their successes to have
 * arrived.
 */
function publishAged(rates: Table, { size, offers, offerIds, atMs, delaysMs, weights }: Rows, sinceMs: number): void {
  const successes = new Float64Array(offerIds.length);
  const trials = new Float64Array(offerIds.length);
  for (let row = 0; row < size; row++) {
    const offer = offers[row] as number;
    if ((delaysMs[row] as number) >= 0) successes[offer] = (successes[offer] as number) + 1;
    if ((atMs[row] as number) <= sinceMs) trials[offer] = (trials[offer] as number) + (weights[row] as number);
  }
  const feature = addFeature(rates, agedFeature);
  for (const [at, id] of offerIds.entries())
    setCounts(rates, slotOf(rates, feature, id), successes[at] as number, trials[at] as number);
}

function publishColumn({ weights, priors }: RateModel['effects'], rows: Rows, column: Column): void {
  const { key, shared, own, valueIds, cellValues, cellOffers } = column;
  for (const [level, block] of [
    [sharedLevel, shared],
    [ownLevel, own],
  ] as const)
    priors.set(groupOf(level, key), block.variance === 0 ? noisePrior : Math.fround(block.variance));
  const values = [...valueIds.keys()];
  const isOpen = (name: string, block: Block): boolean => block.variance > 0 || weights.indexOf.has(name);
  for (const [id, value] of values.entries()) {
    const name = weightName(sharedLevel, '', { key, value });
    if (isOpen(name, shared)) set(weights, name, 0, posteriorOf(shared, id));
  }
  const features = values.map((value) => {
    const name = weightName(ownLevel, '', { key, value });
    return isOpen(name, own) ? addFeature(weights, name) : -1;
  });
  for (const [cell, value] of cellValues.entries()) {
    const feature = features[value] as number;
    if (feature === -1) continue;
    const offerId = rows.offerIds[cellOffers[cell] as number] as number;
    setAt(weights, slotOf(weights, feature, offerId), posteriorOf(own, cell));
  }
}

const set = (table: Table, feature: string, entity: number, pair: [number, number]): void =>
  setAt(table, slotOf(table, addFeature(table, feature), entity), pair);

function setAt(table: Table, slot: number, [mean, variance]: [number, number]): void {
  if (!Number.isFinite(mean) || !Number.isFinite(variance)) throw new Error('a fit that is no number');
  const [before, beforeVariance] = [table.first[slot] as number, table.second[slot] as number];
  const isSame =
    Math.abs(mean - before) < leastMove && Math.abs(variance - beforeVariance) <= leastPart * beforeVariance;
  if (!isSame) setPair(table, slot, mean, variance);
}

function setCounts(table: Table, slot: number, successes: number, trials: number): void {
  const [before, beforeTrials] = [table.first[slot] as number, table.second[slot] as number];
  // Always publish small counts exactly.
  const isSame = (count: number, last: number): boolean =>
    count === last || Math.abs(count - last) <= leastPart * last - 1;
  if (!isSame(successes, before) || !isSame(trials, beforeTrials)) setPair(table, slot, successes, trials);
}
