/**
 * Sums over the users of an arm. `n` is the number of users. The other names stand for sums of these values or of their
 * products (`xy` is the sum of x · y):
 * - `y`: the measured value
 * - `x`: its denominator (the user's number of sessions, or 1)
 * - `b`: the value before the experiment
 */
export type Moments = Readonly<Record<'n' | 'x' | 'y' | 'b' | 'xx' | 'yy' | 'bb' | 'xy' | 'xb' | 'yb', number>>;

export const momentNames = ['n', 'x', 'y', 'b', 'xx', 'yy', 'bb', 'xy', 'xb', 'yb'] as const;

export const noMoments: Moments = { n: 0, x: 0, y: 0, b: 0, xx: 0, yy: 0, bb: 0, xy: 0, xb: 0, yb: 0 };

/** Combines the sums of two groups of users. */
export const addMoments = (a: Moments, b: Moments): Moments =>
  Object.fromEntries(momentNames.map((name) => [name, a[name] + b[name]])) as Moments;

/** Returns the sums for a single user. */
export const momentsOf = (x: number, y: number, b: number): Moments => ({
  n: 1,
  x,
  y,
  b,
  xx: x * x,
  yy: y * y,
  bb: b * b,
  xy: x * y,
  xb: x * b,
  yb: y * b,
});

/** Returns the ratio of `y` to `x` over all users. */
export const ratioOf = ({ x, y }: Moments): number => (x === 0 ? 0 : y / x);

/**
 * Linearises the ratio with the delta method: the ratio varies like the mean of `z = (y - ratio x) / mean(x)` over
 * users. Returns the variance of `z`, the variance of `b`, and their covariance.
 */
export function linearised(moments: Moments): { z: number; b: number; zb: number } {
  const { n, x, b, xx, yy, bb, xy, xb, yb } = moments;
  if (n < 2 || x === 0) return { z: 0, b: 0, zb: 0 };
  const ratio = ratioOf(moments);
  const meanX = x / n;
  const unbiased = n / (n - 1);
  return {
    // The mean of z is 0.
    z: (unbiased * Math.max(0, yy - 2 * ratio * xy + ratio * ratio * xx)) / n / (meanX * meanX),
    b: unbiased * Math.max(0, bb / n - (b / n) ** 2),
    zb: (unbiased * (yb - ratio * xb)) / n / meanX,
  };
}
