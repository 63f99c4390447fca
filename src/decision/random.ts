/**
 * Random numbers derived from a seed and a salt, without state: what is drawn for one purpose depends on these two
 * alone, not on what was drawn before, so an explanation repeats the draws of its decision although it asks for more.
 */

/**
 * One salt range for each purpose; added are offer ids to `revenue`, campaign ids to `pacing` and `goals`, and the
 * place of a class in the index to `layers`.
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

/** 32 well-mixed bits of a seed and a salt (murmur3's finaliser). */
export function mix(seed: number, salt: number): number {
  let h = seed ^ Math.imul(salt, 0x9e3779b1);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** From 0 to below 1. */
export const uniform = (seed: number, salt: number): number => mix(seed, salt) / 2 ** 32;

/** 32 bits of a text (FNV-1a, mixed). */
export function hashText(text: string): number {
  let h = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) h = Math.imul(h ^ text.charCodeAt(index), 0x01000193);
  return mix(h, text.length);
}

/** Inverse of the normal distribution function (Abramowitz and Stegun 26.2.23; error below 4.5e-4). */
export function normalQuantile(p: number): number {
  if (p > 0.5) return -normalQuantile(1 - p);
  const t = Math.sqrt(-2 * Math.log(p));
  return (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
}
