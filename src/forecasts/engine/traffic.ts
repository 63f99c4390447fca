import { dayMs, hourMs } from '../../platform/lib/time.ts';
import { offsetMs } from '../../platform/lib/time-zone.ts';
import { factorOf, type Matrix, matrixOf, product, solve } from './gaussian.ts';
import type { Random } from './random.ts';
import type { HourlySessions } from './types.ts';

/** Expected future sessions. Each path is one possible course of the traffic. */
export type Traffic = {
  /** Number of whole days of history. */
  days: number;
  /** Draws a path: the number of sessions of each hour, from the current hour on. */
  drawPath: (random: Random) => Float64Array;
  /** Start of each future hour, in epoch milliseconds. */
  startsMs: readonly number[];
};

/**
 * Possible standard deviations of the logarithm of daily sessions, with their prior weights. The history shows which
 * of them are likely: each combination is weighted by how well it predicts each day from the days before.
 */
const assumed = {
  /** Single days. */
  noise: weighted([0.02, 1], [0.04, 2], [0.08, 3], [0.16, 2], [0.32, 1]),
  /** Permanent change from one day to the next. */
  drift: weighted([0.003, 1], [0.01, 1], [0.03, 1], [0.06, 0.5]),
  /** Waves of several weeks. */
  wave: weighted([0, 1], [0.05, 1], [0.15, 1]),
  /** Trend per day. */
  slope: weighted([0.0015, 1], [0.005, 1]),
};

/** Standard deviations of the logarithm of the weekly pattern: difference of the weekend, and of each weekday. */
const [weekendSd, weekdaySd] = [0.4, 0.12];

/** Standard deviation of the logarithm of the traffic level around the mean of the history. */
const levelSd = 1;

/** Days after which two days of a wave are hardly related. */
const waveDays = 12;

/** Factor by which the trend weakens each day, so that growth does not continue forever. */
const damping = 0.99;

/**
 * Number of standard deviations from which a day counts as an exception, such as a sale or an outage. It is ignored.
 */
const exceptional = 3.5;

/** Standard deviation of the logarithm of a day that is ignored, and of a day of which only some hours are known. */
const [ignoredSd, partialSd] = [3, 0.5];

/** Smallest weight of a combination, relative to the best one, that is still used. */
const leastWeight = 0.01;

type Variation = Record<keyof typeof assumed, number>;

/** Weekly position of a day: the same number for the same weekday, and whether it is on a weekend. */
type Day = { at: number; weekday: number; isWeekend: boolean };

/** Past day with the logarithm of its sessions. */
type PastDay = Day & { log: number; variance: number };

/** Fits the level, the trend, the weekdays and the hours of the day to past sessions. Days end at the current hour. */
export function* fitTraffic(
  hours: readonly HourlySessions[],
  { zone, nowMs, days: horizon }: { zone: string; nowMs: number; days: number },
): Generator<void, Traffic> {
  const startsMs = Array.from({ length: horizon * 24 }, (_, at) => nowMs + at * hourMs);
  const first = hours.find(({ sessions }) => sessions > 0);
  if (first === undefined) return { days: 0, startsMs, drawPath: () => new Float64Array(startsMs.length) };
  const dayAt = (at: number): Day => {
    const weekday = weekdayOf(nowMs + (at + 0.5) * dayMs, zone);
    return { at, weekday, isWeekend: weekday >= 5 };
  };
  const days = Math.floor((nowMs - first.startMs) / dayMs);
  const past = pastDays(hours, { nowMs, firstMs: first.startMs, count: days }).map(
    ({ at, ...rest }): PastDay => ({ ...dayAt(at), ...rest }),
  );
  const drawDays = yield* fitDays(
    past,
    Array.from({ length: horizon }, (_, at) => dayAt(at)),
  );
  const shares = hourShares(hours, startsMs, zone);
  const drawPath = (random: Random): Float64Array => {
    const totals = drawDays(random);
    return shares.map((share, at) => share * (totals[Math.floor(at / 24)] as number));
  };
  return { days, startsMs, drawPath };
}

const weekdayOf = (atMs: number, zone: string): number => (Math.floor((atMs + offsetMs(zone, atMs)) / dayMs) + 3) % 7;
const hourOf = (atMs: number, zone: string): number => Math.floor((atMs + offsetMs(zone, atMs)) / hourMs) % 24;

/** Returns the whole days of history, or the single incomplete one. */
function pastDays(
  hours: readonly HourlySessions[],
  { nowMs, firstMs, count }: { nowMs: number; firstMs: number; count: number },
): { at: number; log: number; variance: number }[] {
  const sums = new Float64Array(Math.max(1, count));
  for (const { startMs, sessions } of hours) {
    const at = sums.length + Math.floor((startMs - nowMs) / dayMs);
    if (at >= 0) sums[at] = (sums[at] as number) + sessions;
  }
  const dayShare = count > 0 ? 1 : Math.max(hourMs, nowMs - firstMs) / dayMs;
  return Array.from(sums, (sessions, at) => ({
    at: at - sums.length,
    log: Math.log((sessions + 0.5) / dayShare),
    variance: 1 / (sessions + 0.5) + (count > 0 ? 0 : partialSd ** 2),
  }));
}

/** Returns the share of each future hour in the sessions of its day. */
function hourShares(hours: readonly HourlySessions[], startsMs: readonly number[], zone: string): Float64Array {
  const cellOf = (atMs: number): number => hourOf(atMs, zone) + (weekdayOf(atMs, zone) >= 5 ? 24 : 0);
  const [sums, counts] = [new Float64Array(48), new Float64Array(48)];
  for (const { startMs, sessions } of hours.slice(-28 * 24)) {
    const cell = cellOf(startMs);
    sums[cell] = (sums[cell] as number) + sessions;
    counts[cell] = (counts[cell] as number) + 1;
  }
  const total = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0);
  const mean = total(sums) / Math.max(1, total(counts));
  const rates = sums.map((_, cell) => {
    const kind = cell - (cell % 24);
    const [own, other] = [cell, (cell + 24) % 48];
    const hourRate =
      ((sums[own] as number) + (sums[other] as number) + mean) /
      ((counts[own] as number) + (counts[other] as number) + 1);
    const kindRate = (total(sums.slice(kind, kind + 24)) + mean) / (total(counts.slice(kind, kind + 24)) + 1);
    // If there are few sessions on this kind of day, fall back to the hour's share of all days.
    const assumedRate = mean === 0 ? 0 : (hourRate * kindRate) / mean;
    const weight = 20 / Math.max(1e-9, assumedRate);
    return ((sums[own] as number) + 20) / ((counts[own] as number) + weight);
  });
  const shares = Float64Array.from(startsMs, (atMs) => rates[cellOf(atMs)] as number);
  for (let day = 0; day < shares.length; day += 24) {
    const own = total(shares.slice(day, day + 24));
    for (let at = day; at < day + 24; at++) shares[at] = own === 0 ? 1 / 24 : (shares[at] as number) / own;
  }
  return shares;
}

/**
 * Fitted combination: distribution of the logarithm of future daily sessions. `upTo` is the sum of the weights up to
 * this combination.
 */
type Fit = { upTo: number; noise: number; means: Float64Array; factor: Matrix };

/**
 * Fits a Gaussian process to the logarithm of daily sessions.
 * @returns function that draws the sessions of future days
 */
function* fitDays(past: readonly PastDay[], future: readonly Day[]): Generator<void, (random: Random) => number[]> {
  const mean = past.reduce((sum, { log }) => sum + log, 0) / past.length;
  const logs = Float64Array.from(past, ({ log }) => log - mean);
  let variances = past.map(({ variance }) => variance);
  let chances = yield* chancesOf(past, logs, variances);
  for (let round = 0; round < 3; round++) {
    const best = chances.reduce((top, chance) => (chance.evidence > top.evidence ? chance : top));
    const exceptions = exceptionsOf(best.factor, logs).filter((at) => (variances[at] as number) < ignoredSd ** 2);
    if (exceptions.length === 0) break;
    variances = variances.map((variance, at) => (exceptions.includes(at) ? ignoredSd ** 2 : variance));
    chances = yield* chancesOf(past, logs, variances);
  }
  const highest = Math.max(...chances.map(({ evidence }) => evidence));
  const fits: Fit[] = [];
  let totalWeight = 0;
  for (const { evidence, variation, factor } of chances) {
    const weight = Math.exp(evidence - highest);
    if (weight < leastWeight) continue;
    const own = solve(factor, logs);
    const links = future.map((day) =>
      solve(
        factor,
        Float64Array.from(past, (other) => covarianceOf(day, other, variation)),
      ),
    );
    const covariance = matrixOf(future.length, future.length, (row, column) =>
      column > row
        ? 0
        : covarianceOf(future[row] as Day, future[column] as Day, variation) -
          product(links[row] as Float64Array, links[column] as Float64Array),
    );
    const means = Float64Array.from(links, (link) => mean + product(link, own));
    totalWeight += weight;
    fits.push({ upTo: totalWeight, noise: variation.noise, means, factor: factorOf(covariance) });
    yield;
  }
  return (random) => {
    const drawnWeight = random.uniform() * totalWeight;
    const fit = fits.find(({ upTo }) => drawnWeight <= upTo) ?? (fits.at(-1) as Fit);
    const normals = Float64Array.from(future, () => random.normal());
    return future.map((_, day) => {
      const log = (fit.means[day] as number) + product((fit.factor[day] as Float64Array).subarray(0, day + 1), normals);
      return Math.exp(log + Math.hypot(fit.noise, Math.exp(-log / 2)) * random.normal());
    });
  };
}

type Chance = { variation: Variation; evidence: number; factor: Matrix };

/** Returns the logarithm of the probability of the past for each combination of standard deviations. */
function* chancesOf(
  past: readonly PastDay[],
  logs: Float64Array,
  variances: readonly number[],
): Generator<void, Chance[]> {
  const chances: Chance[] = [];
  for (const noise of assumed.noise)
    for (const drift of assumed.drift) {
      for (const wave of assumed.wave)
        for (const slope of assumed.slope) {
          const variation = { noise: noise.value, drift: drift.value, wave: wave.value, slope: slope.value };
          const covariance = matrixOf(past.length, past.length, (row, column) => {
            if (column > row) return 0;
            const own = row === column ? noise.value ** 2 + (variances[row] as number) : 0;
            return own + covarianceOf(past[row] as Day, past[column] as Day, variation);
          });
          const factor = factorOf(covariance);
          const residuals = solve(factor, logs);
          const prior = Math.log(noise.weight * drift.weight * wave.weight * slope.weight);
          const evidence = factor.reduce(
            (sum, row, at) => sum - Math.log(row[at] as number),
            prior - product(residuals, residuals) / 2,
          );
          chances.push({ variation, evidence, factor });
          yield;
        }
    }
  return chances;
}

/** Returns the covariance of the logarithms of the expected sessions of two days. */
function covarianceOf(a: Day, b: Day, { drift, wave, slope }: Variation): number {
  const weekly = (a.weekday === b.weekday ? weekdaySd ** 2 : 0) + (a.isWeekend && b.isWeekend ? weekendSd ** 2 : 0);
  const isSameSide = a.at < 0 === b.at < 0;
  const drifted = isSameSide ? drift ** 2 * Math.min(Math.abs(a.at + 0.5), Math.abs(b.at + 0.5)) : 0;
  const distance = (Math.sqrt(3) * Math.abs(a.at - b.at)) / waveDays;
  const waves = wave ** 2 * (1 + distance) * Math.exp(-distance);
  return levelSd ** 2 + weekly + drifted + waves + slope ** 2 * trendAt(a.at) * trendAt(b.at);
}

const trendAt = (day: number): number => (day < 0 ? day + 0.5 : (1 - damping ** (day + 0.5)) / -Math.log(damping));

/** Returns the indexes of days that differ from what all other days suggest by an exceptional amount. */
function exceptionsOf(factor: Matrix, logs: Float64Array): number[] {
  const size = logs.length;
  const inverse = Array.from({ length: size }, (_, column) =>
    solve(
      factor,
      Float64Array.from({ length: size }, (_, row) => (row === column ? 1 : 0)),
    ),
  );
  const residuals = solve(factor, logs);
  return inverse.flatMap((column, at) => {
    const variance = product(column, column);
    return Math.abs(product(column, residuals)) / Math.sqrt(variance) > exceptional ? [at] : [];
  });
}

function weighted(...entries: readonly (readonly [number, number])[]): { value: number; weight: number }[] {
  return entries.map(([value, weight]) => ({ value, weight }));
}
