import { type DelayCurve, shareBy } from './delay-curve.ts';
import type { Work } from './newton-step.ts';
import type { Rows } from './rows.ts';

/** State of outage detection. During an outage, no successes are recorded. */
export type OutageState = {
  curve: DelayCurve;
  /** Current outage, or null if none exists. */
  outage: { fromMs: number } | null;
  /** Periods in which successes were lost. Rows are not expected to have successes from these periods. */
  lostTimes: { fromMs: number; toMs: number }[];
};

/** Returns the share of a row's successes that would be known by now, excluding those lost in outages. */
export function knownShare({ curve, lostTimes }: OutageState, atMs: number, nowMs: number): number {
  let share = shareBy(curve, nowMs - atMs);
  for (const { fromMs, toMs } of lostTimes)
    if (toMs > atMs) share -= shareBy(curve, toMs - atMs) - shareBy(curve, fromMs - atMs);
  return Math.max(0, share);
}

/**
 * Thresholds for detecting an outage, as numbers of expected successes that did not arrive:
 * - `least`: minimum for an outage. Fewer may be missing by chance.
 * - `most`: up to this number, fits are always postponed until the outage ends.
 * - `ofOthers`: above `most`, fits continue if fewer than this are missing for offers other than the most affected one.
 */
const outageExpected = { least: 12, most: 40, ofOthers: 5 };
/** Minimum number of successes required to detect outages, and maximum number of outage periods to store. */
const [minSuccesses, maxLostTimes] = [30, 20];

/**
 * Detects outages.
 * @returns whether the learner may use the rows now
 */
export function checkOutage(rows: Rows, fit: OutageState, { logits }: Work, nowMs: number): boolean {
  const { size, atMs, delaysMs, offers } = rows;
  let [lastMs, successes, afterMs] = [0, 0, Number.POSITIVE_INFINITY];
  for (let row = 0; row < size; row++) {
    const delayMs = delaysMs[row] as number;
    if (delayMs < 0) continue;
    const successMs = (atMs[row] as number) + delayMs;
    successes += 1;
    lastMs = Math.max(lastMs, successMs);
    if (fit.outage !== null && successMs > fit.outage.fromMs) afterMs = Math.min(afterMs, successMs);
  }
  if (fit.outage !== null && afterMs < Number.POSITIVE_INFINITY) {
    fit.lostTimes.push({ fromMs: fit.outage.fromMs, toMs: afterMs });
    if (fit.lostTimes.length > maxLostTimes) fit.lostTimes.shift();
    fit.outage = null;
  }
  if (successes < minSuccesses) return true;
  const expected = new Float64Array(rows.offerIds.length);
  let [sum, most] = [0, 0];
  for (let row = 0; row < size; row++) {
    const at = atMs[row] as number;
    if ((delaysMs[row] as number) >= 0) continue;
    const before = shareBy(fit.curve, lastMs - at);
    if (before === 1) continue;
    const rate = 1 / (1 + Math.exp(-(logits[row] as number)));
    const own = (rate * (shareBy(fit.curve, nowMs - at) - before)) / (1 - rate * before);
    const offer = offers[row] as number;
    expected[offer] = (expected[offer] as number) + own;
    sum += own;
    most = Math.max(most, expected[offer] as number);
  }
  if (sum < outageExpected.least) return true;
  fit.outage ??= { fromMs: lastMs };
  return sum > outageExpected.most && sum - most < outageExpected.ofOthers;
}
