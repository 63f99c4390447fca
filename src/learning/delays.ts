import { dayMs, hourMs, minuteMs } from '../platform/lib/time.ts';

/** Distribution of the time from a trial to its success. Budgets need it to release reservations. */
export type Delays = {
  /** Ages in milliseconds; the first one is 0. */
  agesMs: readonly number[];
  /** Number of successes between an age and the next one. */
  counts: number[];
};

const ages = {
  click: [0, 5000, 20_000, minuteMs],
  conversion: [0, 10 * minuteMs, hourMs, 6 * hourMs, dayMs, 7 * dayMs],
} as const;

/** Index in `ages` of the age by which most successes have come. Older trials are conclusive. */
export const provenAge = { click: 3, conversion: 1 } as const;

/** Assumed counts of successes before any is observed. */
const assumed = { click: [5, 4, 2, 1], conversion: [6, 4, 4, 3, 2, 1] } as const;

export const createDelays = (kind: keyof typeof ages): Delays => ({ agesMs: ages[kind], counts: [...assumed[kind]] });

/** Number of remembered successes, because delays may change. */
const remembered = 10_000;

export function noteDelay({ agesMs, counts }: Delays, delayMs: number): void {
  const sum = counts.reduce((a, b) => a + b, 0);
  if (sum > remembered) for (const at of counts.keys()) counts[at] = (counts[at] as number) / 2;
  const bin = Math.max(
    0,
    agesMs.findLastIndex((ageMs) => ageMs <= delayMs),
  );
  counts[bin] = (counts[bin] as number) + 1;
}

/** Weight of the assumed share, as a number of successes, while delays are hardly known. */
const assumedSuccesses = 20;

/** Successes of the last age are assumed to come until this multiple of it. */
const lastAge = 4;

/**
 * Share of successes that come later than an age, as far as delays are known.
 * @param share assumed share if nothing is known
 */
export function laterThan(kind: keyof typeof ages, counts: readonly number[], ageMs: number, share: number): number {
  const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
  const observed = Math.max(0, sum(counts) - sum(assumed[kind]));
  if (observed === 0) return share;
  const later = counts.map((count, at) => {
    const from = ages[kind][at] as number;
    const to = ages[kind][at + 1] ?? from * lastAge;
    const own = Math.max(0, count - (assumed[kind][at] as number));
    return own * Math.min(1, Math.max(0, (to - ageMs) / (to - from)));
  });
  return (share * assumedSuccesses + sum(later)) / (assumedSuccesses + observed);
}
