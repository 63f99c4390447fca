import { type AssumedDelays, delayCurve } from './delay-curve.ts';
import { computeResiduals, step, type Work } from './newton-step.ts';
import { checkOutage, knownShare, type OutageState } from './outage.ts';
import { type Block, type Column, grown, type Rows } from './rows.ts';

/**
 * Mixed-effects logistic regression over the rows of one kind (impressions or clicks). Its formula is logit p =
 * intercept + offer + offer recency + position + Σ effect of an attribute on all offers + Σ its effect on the single
 * offer. Each group of effects is a block of independent, normally distributed cells with a common prior variance.
 */
export type Fit = {
  startLogit: number;
  assumed: AssumedDelays;
  intercept: Block;
  offers: Block;
  /** Cells by offer and age bucket. The newest bucket represents the offer's current state. */
  recency: Block;
  places: Block;
} & OutageState;

const blockOf = (variance: number): Block => ({ variance, means: new Float64Array(1), infos: new Float64Array(1) });

/**
 * Creates a fit without rows.
 * @param startRate success rate to assume until one is known
 * @param assumed delays to assume, in milliseconds
 */
export function createFit(startRate: number, assumed: AssumedDelays): Fit {
  const startLogit = Math.log(startRate / (1 - startRate));
  const intercept = blockOf(4);
  return {
    startLogit,
    assumed,
    intercept,
    offers: blockOf(1),
    recency: blockOf(0.01),
    places: blockOf(0.5),
    curve: delayCurve({ size: 0 } as Rows, 0, assumed),
    outage: null,
    lostTimes: [],
  };
}

/** Number of age buckets for an offer's recency effect. */
export const bucketCount = 8;
/** Number of successes in the newest age bucket. Each older bucket covers four times as many as the next newer one. */
const bucketSuccesses = 50;

/**
 * Candidate values for the prior variance of a block. `noisePenalty` is the log evidence that an effect must exceed to
 * be used.
 */
const grid = [0, 0.01, 0.03, 0.1, 0.3, 1, 3];
const offerGrid = [0.3, 1, 3];
/**
 * The variance of the recency effect is never 0, because an offer's current state is uncertain if it was not shown
 * recently.
 */
const recencyGrid = [0.003, ...grid.slice(1)];
const noisePenalty = { alone: 2, among: -1 };

/**
 * Fits the model to the rows, starting from the previous fit.
 * @param nowMs time up to which successes are known, in epoch milliseconds
 * @returns false if no successes are arriving; the previous fit is then retained
 */
export function refit(rows: Rows, fit: Fit, nowMs: number, sweeps = 2): boolean {
  const { size } = rows;
  const work: Work = {
    logits: new Float64Array(size),
    residuals: new Float64Array(size),
    infos: new Float64Array(size),
    shares: new Float64Array(size),
    buckets: bucketsOf(rows),
  };
  ensureCells(rows, fit);
  addLogits(rows, fit, work);
  if (!checkOutage(rows, fit, work, nowMs)) return false;
  fit.curve = delayCurve(rows, nowMs, fit.assumed);
  for (let row = 0; row < size; row++) work.shares[row] = knownShare(fit, rows.atMs[row] as number, nowMs);
  computeResiduals(rows, work, 0, size);
  for (let sweep = 0; sweep < sweeps; sweep++) sweepBlocks(rows, fit, work);
  if (fit.recency.variance >= changedVariance) fadeOldRows(rows, work);
  return true;
}

/**
 * Variance of the recency effect from which rates count as having changed abruptly. `leftOfOld` is the factor applied
 * to the weights of rows from before the change.
 */
const changedVariance = 0.3;
const leftOfOld = 0.1;

/** Reduces the weight of rows from before an abrupt change in rates. */
function fadeOldRows({ size, weights }: Rows, { buckets }: Work): void {
  for (let row = 0; row < size; row++)
    if ((buckets[row] as number) > 0) weights[row] = Math.max(leftOfOld ** 2, (weights[row] as number) * leftOfOld);
}

function sweepBlocks(rows: Rows, fit: Fit, work: Work): void {
  const { size } = rows;
  const all = { size, rows: null };
  step(rows, work, { ...all, cells: null }, fit.intercept, null);
  step(rows, work, { ...all, cells: rows.offers }, fit.offers, offerGrid);
  step(rows, work, { ...all, cells: rows.places }, fit.places, null);
  const evidences = [...rows.columns.values()].map(({ evidence }) => evidence);
  // Exclude the attribute with the strongest evidence: it says nothing about the other attributes.
  const together = evidences.reduce((a, b) => a + b, 0) - Math.max(0, ...evidences);
  const penalty = together > noisePenalty.alone ? noisePenalty.among : noisePenalty.alone;
  for (const column of rows.columns.values()) {
    const isNoise = column.shared.variance === 0 && column.own.variance === 0;
    if (isNoise && column.size < 1.2 * column.checkedSize) continue;
    column.checkedSize = column.size;
    // Fit the effects on single offers first. Otherwise, if one offer has most of the rows, the shared effect would
    // absorb that offer's own effect.
    column.evidence = step(rows, work, { ...column, cells: column.cells }, column.own, grid, penalty);
    step(rows, work, { ...column, cells: column.values }, column.shared, grid, noisePenalty.alone);
  }
  step(rows, work, { ...all, cells: recencyCells(rows, work) }, fit.recency, recencyGrid);
}

function recencyCells({ size, offers }: Rows, { buckets }: Work): Int32Array {
  const cells = new Int32Array(size);
  for (let row = 0; row < size; row++) cells[row] = (offers[row] as number) * bucketCount + (buckets[row] as number);
  return cells;
}

/** Effect of the position on the logit before anything is learned: minus half the logarithm of the position. */
const positionOffset = (position: number): number => -0.5 * Math.log(position);

function addLogits(rows: Rows, fit: Fit, { logits, buckets }: Work): void {
  const { offers, places, positions, size } = rows;
  const base = fit.startLogit + (fit.intercept.means[0] as number);
  for (let row = 0; row < size; row++) {
    const [offer, place] = [offers[row] as number, places[row] as number];
    logits[row] =
      base +
      (fit.offers.means[offer] as number) +
      (fit.places.means[place] as number) +
      positionOffset(positions[place] as number) +
      (fit.recency.means[offer * bucketCount + (buckets[row] as number)] as number);
  }
  for (const column of rows.columns.values()) addEffects(column, logits);
}

function addEffects({ size, rows, values, cells, shared, own }: Column, logits: Float64Array): void {
  if (shared.variance === 0 && own.variance === 0) return;
  for (let at = 0; at < size; at++) {
    const row = rows[at] as number;
    logits[row] =
      (logits[row] as number) +
      (shared.means[values[at] as number] as number) +
      (own.means[cells[at] as number] as number);
  }
}

/** Extends each block so that it has a cell for every index in the rows. */
function ensureCells(rows: Rows, fit: Fit): void {
  const offers = rows.offerIds.length;
  resize(fit.offers, offers);
  resize(fit.places, rows.placeIndex.size);
  resize(fit.recency, offers * bucketCount);
  for (const column of rows.columns.values()) {
    resize(column.shared, column.valueIds.size);
    resize(column.own, column.cellIds.size);
  }
}

function resize(block: Block, length: number): void {
  block.means = grown(block.means, length);
  block.infos = grown(block.infos, length);
}

/**
 * Returns the age bucket of each row. Buckets are based on the usual number of successes in newer rows. If successes
 * become rare, the newest bucket therefore does not cover a longer time. The rows must be approximately in
 * chronological order.
 */
function bucketsOf({ size, delaysMs, weights }: Rows): Int32Array {
  const buckets = new Int32Array(size);
  let [successes, trials] = [0, 0];
  for (let row = 0; row < size; row++) {
    trials += weights[row] as number;
    if ((delaysMs[row] as number) >= 0) successes += weights[row] as number;
  }
  const usual = successes / Math.max(1, trials);
  let [bucket, expected, bound] = [0, 0, bucketSuccesses];
  for (let row = size - 1; row >= 0; row--) {
    buckets[row] = bucket;
    expected += usual * (weights[row] as number);
    if (expected < bound || bucket === bucketCount - 1) continue;
    bucket += 1;
    bound *= 4;
  }
  return buckets;
}
