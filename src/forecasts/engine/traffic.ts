import { dayMs, hourMs } from '../../platform/lib/time.ts';
import { offsetMs } from '../../platform/lib/time-zone.ts';
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
 * Assumed standard deviations of the logarithm of daily sessions when there is no history, and the weight of this
 * assumption as a number of days.
 */
const assumed = { noise: 0.15, noiseDays: 6, drift: 0.02, driftDays: 25, slope: 0.004, weekday: 0.2, hour: 0.5 };

/** Factor by which the trend weakens each day, so that growth does not continue forever. */
const damping = 0.98;

/**
 * Number of standard deviations by which a single day can change the traffic level. A larger deviation counts as an
 * exception, such as a sale or an outage, and does not change the level further.
 */
const maxSurprise = 2.5;

const weekDays = 7;

type Day = { index: number; sessions: number };

/** Fits the daily level, its noise, the weekdays and the hours of the day to past sessions. */
export function fitTraffic(
  hours: readonly HourlySessions[],
  { zone, nowMs, days: horizon }: { zone: string; nowMs: number; days: number },
): Traffic {
  const localDay = (atMs: number): number => Math.floor((atMs + offsetMs(zone, atMs)) / dayMs);
  const localHour = (atMs: number): number => Math.floor((atMs + offsetMs(zone, atMs)) / hourMs) % 24;
  const first = hours.find(({ sessions }) => sessions > 0);
  const startsMs = Array.from({ length: horizon * 24 }, (_, at) => nowMs + at * hourMs);
  const today = localDay(nowMs);
  const days = first === undefined ? [] : wholeDays(hours, localDay, localDay(first.startMs) + 1, today);
  const shares = hourShares(hours, localHour, (atMs) => isWeekend(localDay(atMs)));
  if (first === undefined) return { days: 0, startsMs, drawPath: () => new Float64Array(startsMs.length) };
  const fit = days.length > 0 ? fitDays(days) : fitHours(hours, nowMs);
  const futureDays = startsMs.map((atMs) => localDay(atMs) - today);
  const lastDay = futureDays.at(-1) ?? 0;
  const sinceLast = today - (days.at(-1)?.index ?? today - 1);
  const drawPath = (random: Random): Float64Array => {
    const weekdayNoise = Array.from({ length: weekDays }, () => random.normal() * fit.weekdaySd);
    const slope = fit.slope + random.normal() * fit.slopeSd;
    let level = fit.level + random.normal() * fit.levelSd;
    const totals = new Float64Array(lastDay + 1);
    for (let day = 1 - sinceLast; day <= lastDay; day++) {
      level += slope * damping ** (day + sinceLast) + random.normal() * fit.driftSd;
      if (day < 0) continue;
      const weekday = weekdayOf(today + day);
      const noise = random.normal() * fit.noiseSd + (weekdayNoise[weekday] as number);
      totals[day] = Math.exp(level + (fit.weekdays[weekday] as number) + noise);
    }
    return Float64Array.from(startsMs, (atMs, at) => {
      const share = shares[isWeekend(localDay(atMs)) ? 1 : 0]?.[localHour(atMs)] as number;
      return (totals[futureDays[at] as number] as number) * share;
    });
  };
  return { days: days.length, drawPath, startsMs };
}

const weekdayOf = (day: number): number => (((day + 3) % weekDays) + weekDays) % weekDays;
const isWeekend = (day: number): boolean => weekdayOf(day) >= 5;

/** Returns the sessions of whole days, from `from` (inclusive) to `until` (exclusive). */
function wholeDays(
  hours: readonly HourlySessions[],
  localDay: (atMs: number) => number,
  from: number,
  until: number,
): Day[] {
  const days = Array.from({ length: Math.max(0, until - from) }, (_, at): Day => ({ index: from + at, sessions: 0 }));
  for (const { startMs, sessions } of hours) {
    const day = days[localDay(startMs) - from];
    if (day !== undefined) day.sessions += sessions;
  }
  return days;
}

/** Returns each hour's share of the sessions of a day, for working days and weekends. */
function hourShares(
  hours: readonly HourlySessions[],
  hourOf: (atMs: number) => number,
  isFree: (atMs: number) => boolean,
): [number[], number[]] {
  const sums = [new Array<number>(24).fill(0), new Array<number>(24).fill(0)];
  for (const { startMs, sessions } of hours.slice(-28 * 24)) {
    const kind = sums[isFree(startMs) ? 1 : 0] as number[];
    kind[hourOf(startMs)] = (kind[hourOf(startMs)] as number) + sessions;
  }
  const all = sums[0]?.map((sum, hour) => sum + (sums[1]?.[hour] as number)) as number[];
  const total = all.reduce((sum, value) => sum + value, 0);
  const allShares = all.map((sum) => (total === 0 ? 1 / 24 : sum / total));
  const sharesOf = (kind: readonly number[]): number[] => {
    const own = kind.reduce((sum, value) => sum + value, 0);
    // If there are few sessions on this kind of day, fall back to the hour's share of all days.
    const weight = own / (own + 500);
    return kind.map((sum, hour) => (own === 0 ? 0 : (weight * sum) / own) + (1 - weight) * (allShares[hour] as number));
  };
  return [sharesOf(sums[0] as number[]), sharesOf(sums[1] as number[])];
}

type DayFit = {
  /** Logarithm of the sessions of an average day, with its standard deviation. */
  level: number;
  levelSd: number;
  driftSd: number;
  noiseSd: number;
  slope: number;
  slopeSd: number;
  weekdays: readonly number[];
  weekdaySd: number;
};

/** Fits a local level with weekdays and a shrunk trend to the logarithm of daily sessions. */
function fitDays(days: readonly Day[]): DayFit {
  const logs = days.map(({ sessions }) => Math.log(sessions + 0.5));
  const weekdays = fitWeekdays(days, logs);
  const weeks = Math.floor(days.length / weekDays);
  const rest = logs.map((value, at) => value - (weekdays[weekdayOf(days[at]?.index as number)] as number));
  const { noise, drift } = fitNoise(rest);
  let [level, variance] = [rest[0] as number, noise];
  for (const value of rest.slice(1)) {
    variance += drift;
    const gain = variance / (variance + noise);
    const limit = maxSurprise * Math.sqrt(variance + noise);
    level += gain * Math.max(-limit, Math.min(limit, value - level));
    variance *= 1 - gain;
  }
  const { slope, slopeSd } = fitSlope(rest, noise, drift);
  return {
    level,
    levelSd: Math.sqrt(variance),
    driftSd: Math.sqrt(drift),
    noiseSd: Math.sqrt(noise),
    slope,
    slopeSd,
    weekdays,
    weekdaySd: assumed.weekday / (1 + 2 * weeks) / Math.sqrt(2),
  };
}

/** Returns the logarithm of each weekday's factor, shrunk towards 0 if there are only a few weeks of history. */
function fitWeekdays(days: readonly Day[], logs: readonly number[]): number[] {
  const factors = new Array<number>(weekDays).fill(0);
  if (days.length < weekDays) return factors;
  const byWeekday = factors.map((): number[] => []);
  for (const [at, { index }] of days.entries()) {
    const from = Math.min(Math.max(0, at - 3), days.length - weekDays);
    const week = logs.slice(from, from + weekDays);
    byWeekday[weekdayOf(index)]?.push((logs[at] as number) - mean(week));
  }
  const raw = byWeekday.map((values) => (mean(values) * values.length) / (values.length + 0.4));
  const center = mean(raw);
  return raw.map((value) => value - center);
}

/** Splits the variance of day-to-day changes into noise of single days and drift of the level. */
function fitNoise(rest: readonly number[]): { noise: number; drift: number } {
  const steps = rest.slice(1).map((value, at) => value - (rest[at] as number));
  const count = steps.length;
  // Limit outliers, such as a sale or an outage. Otherwise a single day would widen the interval of every day.
  const limit = 4 * (medianOf(steps.map(Math.abs)) || 0.1);
  const cut = steps.map((step) => Math.max(-limit, Math.min(limit, step)));
  const square = cut.reduce((sum, step) => sum + step * step, 0);
  const product = cut.slice(1).reduce((sum, step, at) => sum + step * (cut[at] as number), 0);
  const own = count < 2 ? 0 : Math.max(0.05 * (square / count), -product / (count - 1));
  const { noise, noiseDays, drift, driftDays } = assumed;
  const meanNoise = (own * count + noise ** 2 * noiseDays) / (count + noiseDays);
  const ownDrift = count < 2 ? 0 : Math.min(0.06 ** 2, Math.max(0, square / count - 2 * own));
  return { noise: meanNoise, drift: (ownDrift * count * 0.5 + drift ** 2 * driftDays) / (count * 0.5 + driftDays) };
}

/** Returns the trend per day, shrunk by its uncertainty. */
function fitSlope(rest: readonly number[], noise: number, drift: number): { slope: number; slopeSd: number } {
  const count = rest.length;
  if (count < 2 * weekDays) return { slope: 0, slopeSd: assumed.slope };
  const center = (count - 1) / 2;
  const spread = (count * (count * count - 1)) / 12;
  const raw = rest.reduce((sum, value, at) => sum + (at - center) * value, 0) / spread;
  const variance = noise / spread + (1.2 * drift) / count;
  const weight = assumed.slope ** 2 / (assumed.slope ** 2 + variance);
  return { slope: raw * weight, slopeSd: assumed.slope * Math.sqrt(1 - weight) };
}

/** Extrapolates an incomplete first day. */
function fitHours(hours: readonly HourlySessions[], nowMs: number): DayFit {
  const firstMs = hours.find(({ sessions }) => sessions > 0)?.startMs ?? nowMs;
  const sessions = hours.reduce((sum, hour) => sum + hour.sessions, 0);
  const isDay = nowMs - firstMs >= dayMs;
  const knownDays = isDay ? (nowMs - firstMs) / dayMs : Math.max(1, (nowMs - firstMs) / hourMs) / 24;
  return {
    level: Math.log(sessions / knownDays + 0.5),
    levelSd: assumed.hour,
    driftSd: assumed.drift,
    noiseSd: assumed.noise,
    slope: 0,
    slopeSd: assumed.slope,
    weekdays: new Array<number>(weekDays).fill(0),
    weekdaySd: assumed.weekday,
  };
}

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
