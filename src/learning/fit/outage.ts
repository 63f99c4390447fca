import { type DelayCurve, shareBy } from './delay-curve.ts';
import type { Work } from './newton-step.ts';
import type { Rows } from './rows.ts';

/** What a fit knows of lost successes. */
export type OutageState = {
  curve: DelayCurve;
  /** The outage that lasts; null: there is none. */
  outage: { fromMs: number } | null;
  /** Times in which successes were lost, and for which a missing success says nothing. */
  lostTimes: { fromMs: number; toMs: number }[];
};

/** Share of the successes of a row that would be known by now, without those that were lost. */
export function knownShare({ curve, lostTimes }: OutageState, atMs: number, nowMs: number): number {
  let share = shareBy(curve, nowMs - atMs);
  for (const { fromMs, toMs } of lostTimes)
    if (toMs > atMs) share -= shareBy(curve, toMs - atMs) - shareBy(curve, fromMs - atMs);
  return Math.max(0, share);
}

/** Missing successes that tell an outage of all offers from chance, and how long a fit waits for its end (counts). */
const outageExpected = { least: 12, most: 40, ofOthers: 5 };
/** Successes before which no outage is told (count), and the lost times that are remembered. */
const [minSuccesses, maxLostTimes] = [30, 20];

/** @returns whether the rows may be learned from */
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
