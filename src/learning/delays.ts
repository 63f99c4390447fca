import { dayMs, hourMs, minuteMs } from '../platform/lib/time.ts';

/** How long after its trial a success comes, as budgets need it to release what they reserved. */
export type Delays = {
  /** Ages, the first 0 (milliseconds). */
  agesMs: readonly number[];
  /** Successes that came between an age and the next. */
  counts: number[];
};

const ages = {
  click: [0, 5000, 20_000, minuteMs],
  conversion: [0, 10 * minuteMs, hourMs, 6 * hourMs, dayMs, 7 * dayMs],
} as const;

/** Most successes have come by this age, in the order of `ages`: what is older has shown what it is worth. */
export const provenAge = { click: 3, conversion: 1 } as const;

/** Assumed before any is seen, counted as successes. */
const assumed = { click: [5, 4, 2, 1], conversion: [6, 4, 4, 3, 2, 1] } as const;

export const createDelays = (kind: keyof typeof ages): Delays => ({ agesMs: ages[kind], counts: [...assumed[kind]] });

/** Successes that are remembered (count): delays may change. */
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

/** A share that is assumed before delays are known is worth so many successes. */
const assumedSuccesses = 20;

/** Successes of the last age are taken to come until it is so many times as old. */
const lastAge = 4;

/**
 * The share of successes that come later than an age, as far as delays are known.
 * @param share assumed where nothing is
 */
export function laterThan(kind: keyof typeof ages, counts: readonly number[], ageMs: number, share: number): number {
  const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
  const seen = Math.max(0, sum(counts) - sum(assumed[kind]));
  if (seen === 0) return share;
  const later = counts.map((count, at) => {
    const from = ages[kind][at] as number;
    const to = ages[kind][at + 1] ?? from * lastAge;
    const own = Math.max(0, count - (assumed[kind][at] as number));
    return own * Math.min(1, Math.max(0, (to - ageMs) / (to - from)));
  });
  return (share * assumedSuccesses + sum(later)) / (assumedSuccesses + seen);
}
