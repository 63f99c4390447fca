import { normalQuantile, uniform } from '../../decision/random.ts';

/** Reproducible stream of random numbers. */
export type Random = {
  /** Uniform number in (0, 1). */
  uniform: () => number;
  normal: () => number;
  /** Number of events, drawn from a distribution with the given mean. Uses a normal distribution for large means. */
  poisson: (mean: number) => number;
};

/**
 * Creates a sequence of normal numbers that covers the distribution more evenly than independent numbers, so that the
 * median of a few draws is reliable. Sequences with the square roots of different primes are independent of each other.
 */
export function createEvenNormals({ uniform: draw }: Random, prime: number): () => number {
  let at = draw();
  return () => {
    at = (at + Math.sqrt(prime)) % 1;
    return normalQuantile(at + 2 ** -33);
  };
}

/** Largest mean for which events are drawn one by one. */
const exactMean = 30;

export function createRandom(seed: number): Random {
  let draws = 0;
  const next = (): number => uniform(seed, draws++) + 2 ** -33;
  const normal = (): number => normalQuantile(next());
  return {
    uniform: next,
    normal,
    poisson: (mean) => {
      if (!(mean > 0)) return 0;
      if (mean > exactMean) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal()));
      const least = Math.exp(-mean);
      let count = -1;
      for (let product = 1; product > least; count++) product *= next();
      return count;
    },
  };
}
