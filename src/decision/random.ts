/**
 * Stateless random numbers, derived from a seed and a salt. The numbers depend only on these two values, not on earlier
 * draws. An explanation can therefore reproduce the draws of its decision, even though it makes more draws.
 */

/**
 * Salt ranges, one per purpose. An ID or index is added to the start of a range: offer IDs to `revenue`, campaign IDs
 * to `pacing` and `goals`, and the index of the priority class to `layers`.
 */
export const salts = {
  revenue: 0,
  pacing: 0x80000000,
  isExploration: 0xc0000001,
  exploredOffer: 0xc0000002,
  propensity: 0xc0010000,
  layers: 0xd0000000,
  goals: 0xe0000000,
};

/** Mixes a seed and a salt into 32 bits (murmur3 finaliser). */
export function mix(seed: number, salt: number): number {
  let h = seed ^ Math.imul(salt, 0x9e3779b1);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** Returns a uniform number in [0, 1). */
export const uniform = (seed: number, salt: number): number => mix(seed, salt) / 2 ** 32;

/** Hashes a string to 32 bits (FNV-1a, then mixed). */
export function hashText(text: string): number {
  let h = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) h = Math.imul(h ^ text.charCodeAt(index), 0x01000193);
  return mix(h, text.length);
}

/** Returns the quantile of the standard normal distribution (Abramowitz and Stegun 26.2.23; error below 4.5e-4). */
export function normalQuantile(p: number): number {
  if (p > 0.5) return -normalQuantile(1 - p);
  const t = Math.sqrt(-2 * Math.log(p));
  return (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
}
