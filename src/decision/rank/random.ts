/**
 * Chance from a seed, by counting: what is drawn for one thing depends on the seed and that thing alone, not on what
 * was
 * drawn before. So an explanation meets the same draws as the decision, though it looks at more offers.
 */

/** 32 well-mixed bits of a seed and a number (murmur3's finaliser, twice). */
export function mix(seed: number, salt: number): number {
  let h = seed ^ Math.imul(salt, 0x9e3779b1);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  h = Math.imul((h ^ (h >>> 16)) + salt, 0x85ebca6b);
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

/** Kinds of chance; each has its own salts, so that none repeats another. */
export const salts = {
  click: 0,
  conversion: 0x40000000,
  pacing: 0x80000000,
  explore: 0xc0000001,
  explored: 0xc0000002,
  pool: 0xc0010000,
};

/** The standard normal distribution in equal shares: a draw is a look at one of them. */
const normalSize = 4096;
const normals = Float64Array.from({ length: normalSize }, (_, index) => normalQuantile((index + 0.5) / normalSize));

/** Two independent standard normal draws from 32 bits. */
export const firstNormal = (bits: number): number => normals[bits & (normalSize - 1)] as number;
export const secondNormal = (bits: number): number => normals[bits >>> 20] as number;

/** No draw is higher, and none lower than its opposite. */
export const highestNormal = Math.max(...normals);

/** Inverse of the normal distribution function (Acklam; relative error below 1.2e-9). */
export function normalQuantile(p: number): number {
  if (p < 0.02425) return tail(Math.sqrt(-2 * Math.log(p)));
  if (p > 1 - 0.02425) return -tail(Math.sqrt(-2 * Math.log(1 - p)));
  const q = p - 0.5;
  const r = q * q;
  const top =
    ((((-39.69683028665376 * r + 220.9460984245205) * r - 275.9285104469687) * r + 138.357751867269) * r -
      30.66479806614716) *
    r;
  const below =
    ((((-54.47609879822406 * r + 161.5858368580409) * r - 155.6989798598866) * r + 66.80131188771972) * r -
      13.28068155288572) *
      r +
    1;
  return ((top + 2.506628277459239) * q) / below;
}

function tail(q: number): number {
  const top =
    ((((-0.007784894002430293 * q - 0.3223964580411365) * q - 2.400758277161838) * q - 2.549732539343734) * q +
      4.374664141464968) *
    q;
  const below =
    (((0.007784695709041462 * q + 0.3224671290700398) * q + 2.445134137142996) * q + 3.754408661907416) * q + 1;
  return (top + 2.938163982698783) / below;
}

/** Logarithm of the normal distribution function, from a table. */
const logSize = 1024;
const logReach = 6;
const logCumulative = Float64Array.from({ length: logSize }, (_, index) =>
  Math.log(cumulative(-logReach + (2 * logReach * (index + 0.5)) / logSize)),
);

export function logNormalCumulative(z: number): number {
  if (z >= logReach) return 0;
  if (z <= -logReach) return -(z * z) / 2;
  return logCumulative[Math.trunc(((z + logReach) * logSize) / (2 * logReach))] as number;
}

/** Normal distribution function (Abramowitz and Stegun 26.2.17; error below 7.5e-8). */
function cumulative(z: number): number {
  if (z < 0) return Math.max(1e-12, 1 - cumulative(-z));
  const t = 1 / (1 + 0.2316419 * z);
  const poly = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return 1 - (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * poly;
}
