import { dayMs, hourMs, minuteMs } from '../platform/lib/time.ts';

/** Distribution of the time from a trial (impression or click) to its success. Used to release budget reservations. */
export type Delays = {
  /** Lower bounds of the age bins, in milliseconds. The first one is 0. */
  agesMs: readonly number[];
  /** Number of successes per age bin. */
  counts: number[];
};

const ages = {
  click: [0, 5000, 20_000, minuteMs],
  conversion: [0, 10 * minuteMs, hourMs, 6 * hourMs, dayMs, 7 * dayMs],
} as const;

/** Index in `ages` of the age by which most successes have arrived. The outcome of older trials counts as known. */
export const provenAge = { click: 3, conversion: 1 } as const;

/** Number of successes per age bin to assume before any success is observed. */
const assumed = { click: [5, 4, 2, 1], conversion: [6, 4, 4, 3, 2, 1] } as const;

export const createDelays = (kind: keyof typeof ages): Delays => ({ agesMs: ages[kind], counts: [...assumed[kind]] });

/** Number of successes above which all counts are halved. Halving lets the distribution follow changes over time. */
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

/** Weight of the assumed share, as a number of successes. It has an effect only while few delays are known. */
const assumedSuccesses = 20;

/** Upper bound of the last age bin, as a multiple of the bin's lower bound. */
const lastAge = 4;

/**
 * Returns the share of successes that arrive after an age, estimated from the known delays.
 * @param share assumed share if no delays are known
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
