import type { Rows } from './rows.ts';

/** Cumulative share of successes by age, as a step function over logarithmic bins. */
export type DelayCurve = Float64Array;

/** Upper bound of the first bin in milliseconds, growth factor of the bins, and number of bins. */
const [firstMs, factor, binCount] = [50, 1.25, 80];
const logFactor = Math.log(factor);

const binOf = (ms: number): number =>
  ms <= firstMs ? 0 : Math.min(binCount - 1, Math.ceil(Math.log(ms / firstMs) / logFactor));

/** Maximum number of recent successes from which the curve is computed. */
const maxSuccesses = 4000;

/** Delays to assume before any success is known, in milliseconds. Each has the weight of one success. */
export type AssumedDelays = readonly number[];

/**
 * Estimates the delay curve. A delay can only be observed if it is shorter than the age of its row. The shares are
 * therefore computed from the longest delay down, each from the rows that are old enough to show that delay
 * (Lynden-Bell 1971). The share of successes that arrive later than the age of the oldest row is extrapolated.
 */
export function delayCurve(rows: Rows, nowMs: number, assumed: AssumedDelays): DelayCurve {
  const { size, atMs, delaysMs } = rows;
  const successes = new Float64Array(binCount);
  const atRisk = new Float64Array(binCount + 1);
  const note = (delayMs: number, ageMs: number): void => {
    const bin = binOf(delayMs);
    successes[bin] = (successes[bin] as number) + 1;
    atRisk[bin] = (atRisk[bin] as number) + 1;
    const until = Math.max(bin, binOf(ageMs));
    atRisk[until + 1] = (atRisk[until + 1] as number) - 1;
  };
  let oldestMs = 0;
  for (let row = 0; row < size; row++) oldestMs = Math.max(oldestMs, nowMs - (atMs[row] as number));
  for (const delayMs of assumed) if (oldestMs === 0 || delayMs <= oldestMs) note(delayMs, Number.POSITIVE_INFINITY);
  for (let row = size - 1, remaining = maxSuccesses; row >= 0 && remaining > 0; row--) {
    const delayMs = delaysMs[row] as number;
    if (delayMs < 0) continue;
    note(delayMs, nowMs - (atMs[row] as number));
    remaining -= 1;
  }
  const curve = new Float64Array(binCount);
  for (let bin = 1; bin < binCount; bin++) atRisk[bin] = (atRisk[bin] as number) + (atRisk[bin - 1] as number);
  const last = oldestMs === 0 ? binCount - 1 : binOf(oldestMs);
  curve.fill(1, last);
  for (let bin = last, share = oldestMs === 0 ? 1 : 1 - laterShare(rows, nowMs, oldestMs); bin >= 0; bin--) {
    curve[bin] = share;
    const risk = atRisk[bin] as number;
    if (risk > 0) share *= Math.max(0, 1 - (successes[bin] as number) / risk);
  }
  return curve;
}

/**
 * Window in which the decline of successes is measured, as a fraction of the oldest row's age. The window is divided
 * into two halves.
 */
const measuredPart = 0.75;

/**
 * Upper limit for the ratio of successes in the second half of the window to those in the first. Without this limit, a
 * small sample could make the success rate look as if it never declines.
 */
const mostOfHalf = 0.7;

/**
 * Returns the share of successes that arrive later than the age of the oldest row. Assumes that successes continue to
 * decline by the same ratio from one half window to the next.
 */
function laterShare({ size, atMs, delaysMs }: Rows, nowMs: number, oldestMs: number): number {
  const measuredMs = oldestMs * measuredPart;
  let [first, second] = [0, 0];
  for (let row = 0; row < size; row++) {
    const delayMs = delaysMs[row] as number;
    if (delayMs < 0 || delayMs > measuredMs || nowMs - (atMs[row] as number) < measuredMs) continue;
    if (delayMs <= measuredMs / 2) first += 1;
    else second += 1;
  }
  return Math.min(mostOfHalf, (second + 1) / (first + 2)) ** 2;
}

/** Returns the share of successes that have arrived by an age, interpolated within its bin. */
export function shareBy(curve: DelayCurve, ageMs: number): number {
  if (ageMs <= 0) return 0;
  if (ageMs <= firstMs) return ((curve[0] as number) * ageMs) / firstMs;
  const place = Math.log(ageMs / firstMs) / logFactor;
  const bin = Math.floor(place);
  if (bin >= binCount - 1) return 1;
  const below = curve[bin] as number;
  return below + ((curve[bin + 1] as number) - below) * (place - bin);
}
