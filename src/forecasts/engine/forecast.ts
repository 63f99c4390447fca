import type { Hours } from '../../budgets/caps.ts';
import { hourMs } from '../../platform/lib/time.ts';
import { minuteOfWeek, offsetMs } from '../../platform/lib/time-zone.ts';
import { assumedVariance, calibrate } from './calibrate.ts';
import { createEvenNormals, createRandom, type Random } from './random.ts';
import { type Replay, replay } from './replay.ts';
import { type Course, type Hour, hoursOf, type OpenShare, priceOf, type Scenario, simulateCourse } from './simulate.ts';
import { fitTraffic } from './traffic.ts';
import {
  type Forecast,
  type ForecastDay,
  type ForecastInput,
  type ForecastMetric,
  type ForecastNote,
  horizonDays,
  type Interval,
  metrics,
} from './types.ts';
import { simulateUsers } from './users.ts';

/** Number of simulated futures from which the interval is computed. */
const futures = 400;

/** Bounds of the 80% interval, as quantiles. */
const bounds = { low: 0.1, mid: 0.5, high: 0.9 };

/** Days of history below which a forecast says that it is uncertain. */
const enoughDays = 7;

/**
 * Forecasts a campaign: repeats sampled decisions with the campaign in the catalogue, and simulates many possible
 * futures with its dates, caps and pacing. The caller may do other work at each `yield`.
 */
export function* forecast(input: ForecastInput): Generator<void, Forecast> {
  const { campaign, publisher, nowMs } = input;
  const zone = publisher.timeZone;
  const random = createRandom(input.seed);
  const traffic = yield* fitTraffic(input.hours, { zone, nowMs, days: horizonDays });
  const replayed = yield* replay(input);
  const openShare = openShareOf(input.schedule, zone);
  const future = hoursOf(traffic.startsMs, campaign, openShare);
  const scenarios = yield* scenariosOf(replayed, input, openShare);
  const expectedTraffic = yield* meanPath(traffic.drawPath, random);
  const full = new Float64Array(horizonDays).fill(1);

  // Frequency caps prevent fewer impressions if total caps have prevented others, so both are simulated in turn.
  const central = scenarios.central(full);
  const uncapped = simulateCourse(campaign, future, expectedTraffic, central, null);
  const delivered = (course: Course): number[] =>
    Array.from(course.impressions, (value, day) => {
      const possible = course.possible[day] as number;
      return possible === 0 ? 0 : Math.min(1, value / possible);
    });
  let reach = yield* simulateUsers(input, replayed, { delivered: delivered(uncapped), openShare, random });
  let expected = simulateCourse(campaign, future, expectedTraffic, scenarios.central(reach.remainingShare), null);
  if (expected.capped > 0.05 * sum(expected.impressions)) {
    reach = yield* simulateUsers(input, replayed, { delivered: delivered(expected), openShare, random });
    expected = simulateCourse(campaign, future, expectedTraffic, scenarios.central(reach.remainingShare), null);
  }

  const courses: Course[] = [];
  const users: number[] = [];
  const openSessions = (path: Float64Array): number =>
    future.reduce((total, { open }, at) => total + open * (path[at] as number), 0);
  const visitsSd = usersSd * Math.sqrt(horizonDays / Math.max(1, input.visitDays));
  // The users were simulated with known rates.
  const settled = { ...scenarios.central(reach.remainingShare), start: null };
  const knownImpressions = sum(simulateCourse(campaign, future, expectedTraffic, settled, null).impressions);
  for (let at = 0; at < futures; at++) {
    const path = traffic.drawPath(random);
    const scenario = scenarios.draw(reach.remainingShare);
    const course = simulateCourse(campaign, future, path, scenario, random);
    courses.push(course);
    const impressions = sum(course.impressions);
    const traffics = openSessions(path) / Math.max(1, openSessions(expectedTraffic));
    const more = knownImpressions === 0 ? 1 : impressions / (knownImpressions * Math.max(traffics, 1e-9));
    const noise = 1 + Math.hypot(reach.relativeSd, visitsSd) * random.normal();
    const reached = openSessions(path) * reach.usersPerSession * more ** usersExponent * Math.max(0, noise);
    users.push(Math.min(impressions, reached));
    yield;
  }
  return {
    days: yield* daysOf(courses, future, zone),
    totals: { ...totalsOf(courses, priceOf(campaign.payout)), users: intervalOf(users, 1) },
    currency: campaign.payout.currency,
    sample: { sessions: input.sessions.length, matching: replayed.matching, days: traffic.days },
    conditions: replayed.conditions,
    notes: notesOf(input, replayed, { expected, courses, days: traffic.days }),
  };
}

/** Exponent of users by impressions. It is below 1, because more impressions reach the same users more often. */
const usersExponent = 0.8;

/**
 * Relative standard deviation of the number of users, because future visits differ from past ones. It applies if the
 * visits of a whole forecast period are known, and is larger if fewer days are known.
 */
const usersSd = 0.15;

const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);

/** Returns the share of an hour in which the schedule is open. Uses the publisher's time zone for all users. */
function openShareOf(hours: Hours | null, publisherZone: string): OpenShare {
  if (hours === null) return () => 1;
  return (atMs) => {
    const start = minuteOfWeek(hours.zone ?? publisherZone, atMs);
    let open = 0;
    for (const window of hours.windows)
      for (const shift of [0, 7 * 1440])
        open += Math.max(0, Math.min(start + 60, window.end + shift) - Math.max(start, window.start + shift));
    return Math.min(1, open / 60);
  };
}

/** Returns the mean of some possible paths of traffic. */
function* meanPath(draw: (random: Random) => Float64Array, random: Random): Generator<void, Float64Array> {
  const count = 60;
  const mean = draw(random).map((value) => value / count);
  for (let at = 1; at < count; at++) {
    for (const [hour, value] of draw(random).entries()) mean[hour] = (mean[hour] as number) + value / count;
    if (at % 4 === 0) yield;
  }
  return mean;
}

/** Mean impressions and clicks of a matching session, and its impressions at the start of a new campaign. */
type Means = { impressions: number; clicks: number; atStart: number };

type Scenarios = {
  central: (remainingShare: Float64Array) => Scenario;
  /** Draws a scenario: other sampled sessions, and other rates that the model considers possible. */
  draw: (remainingShare: Float64Array) => Scenario;
};

/** Number of draws from which the deviation of the impressions per session is estimated. */
const deviationDraws = 40;

function* scenariosOf(
  replayed: Replay,
  { campaign, hours, seed, sessions: sampled }: ForecastInput,
  openShare: OpenShare,
): Generator<void, Scenarios> {
  const { grid, sessions, open, matching, clickSd, conversionSd, conversionRate, startVariance } = replayed;
  const share = open === 0 ? 0 : matching / open;
  const isPaidByConversion = campaign.payout.kind === 'cpa' || campaign.payout.kind === 'cps';
  const isRanked = campaign.payout.kind !== 'cpm';
  const own = {
    click: ownRate(campaign.recent.clicks, campaign.recent.impressions, clickSd),
    conversion: ownRate(campaign.recent.conversions, campaign.recent.clicks, conversionSd),
  };
  const rankedSd = Math.hypot(isRanked ? clickSd : 0, isPaidByConversion ? conversionSd : 0);
  const users = usersOf(sessions.map(({ userKey }) => userKey));
  const sessionsPerUser = usersOf(sampled.map(({ context }) => context.userKey)).sessionsPerUser;
  const weights = new Float64Array(users.count);
  const meansAt = (weightOf: () => number): ((deviation: number) => Means) => {
    const columns = sessions[0]?.impressions.length ?? grid.length;
    const sums = Array.from({ length: columns }, () => ({ impressions: 0, clicks: 0 }));
    for (let user = 0; user < users.count; user++) weights[user] = weightOf();
    let all = 0;
    for (const [at, { impressions, clicks, isCapped }] of sessions.entries()) {
      const weight = weights[users.indexes[at] as number] as number;
      if (weight === 0) continue;
      all += weight;
      if (isCapped) continue;
      for (const [column, cell] of sums.entries()) {
        cell.impressions += weight * (impressions[column] as number);
        cell.clicks += weight * (clicks[column] as number);
      }
    }
    return (deviation) => {
      const [impressions, clicks] = (['impressions', 'clicks'] as const).map((name) =>
        interpolate(
          grid,
          sums.map((cell) => cell[name] / Math.max(1, all)),
          deviation,
        ),
      ) as [number, number];
      return { impressions, clicks, atStart: (sums[grid.length]?.impressions ?? 0) / Math.max(1, all) };
    };
  };
  const center = meansAt(() => 1)(0);
  const scenario = (
    { impressions, clicks, atStart }: Means,
    {
      matchingShare,
      click,
      conversion,
      remainingShare,
    }: Record<'matchingShare' | 'click' | 'conversion', number> & { remainingShare: Float64Array },
  ): Scenario => {
    const rates = {
      click: own.click.rateOf(impressions === 0 ? replayed.clickRate : clicks / impressions) * Math.exp(click),
      conversion: own.conversion.rateOf(conversionRate) * Math.exp(conversion),
    };
    // Each paid event makes the rates more certain.
    const paidShare = rates.click * (isPaidByConversion ? rates.conversion : 1);
    return {
      matchingShare,
      perSession: matchingShare * impressions,
      start:
        startVariance === null
          ? null
          : { perSession: matchingShare * atStart, halfKnown: 1 / Math.max(1e-9, startVariance * paidShare) },
      clickRate: Math.min(1, rates.click),
      conversionRate: Math.min(1, rates.conversion),
      remainingShare,
    };
  };
  const centralOf = (remainingShare: Float64Array): Scenario =>
    scenario(center, { matchingShare: share, click: 0, conversion: 0, remainingShare });
  const random = createRandom(seed + 1);
  const normals = {
    click: createEvenNormals(random, 2),
    conversion: createEvenNormals(random, 3),
    correction: createEvenNormals(random, 5),
  };
  const drawOf = (remainingShare: Float64Array): Scenario => {
    const [click, conversion] = [normals.click() * clickSd, normals.conversion() * conversionSd];
    const ranked = (isRanked ? click : 0) + (isPaidByConversion ? conversion : 0);
    const noise = random.normal() * Math.sqrt((share * (1 - share) * sessionsPerUser) / Math.max(1, open));
    const means = meansAt(() => random.poisson(1))(rankedSd === 0 ? 0 : ranked / rankedSd);
    const matchingShare = Math.max(0, Math.min(1, share + noise));
    return scenario(means, {
      matchingShare,
      click: clickSd === 0 ? 0 : (click / clickSd) * own.click.sd,
      conversion: conversionSd === 0 ? 0 : (conversion / conversionSd) * own.conversion.sd,
      remainingShare,
    });
  };
  const full = new Float64Array(horizonDays).fill(1);
  const expected = centralOf(full);
  const draws = campaign.delivered.length === 0 ? 0 : deviationDraws;
  let sampleVariance = 0;
  for (let at = 0; at < draws; at++) {
    sampleVariance += Math.log(Math.max(1e-9, drawOf(full).perSession) / expected.perSession) ** 2 / draws;
    yield;
  }
  const centralSd = Math.sqrt(sampleVariance + assumedVariance);
  const calibration = yield* calibrate(campaign, { hours, openShare, central: expected, centralSd });
  const { mean, variance } = calibration ?? { mean: 0, variance: assumedVariance };
  const corrected = (scenario: Scenario, deviation: number): Scenario => {
    const factor = Math.exp(mean + Math.sqrt(variance) * deviation);
    const { perSession, start } = scenario;
    return {
      ...scenario,
      perSession: factor * perSession,
      start: start && { ...start, perSession: factor * start.perSession },
    };
  };
  return {
    central: (remainingShare) => corrected(centralOf(remainingShare), 0),
    draw: (remainingShare) => {
      const drawn = drawOf(remainingShare);
      // Deliveries replace the uncertainty about the repeated decisions.
      const perSession = calibration === null ? drawn.perSession : expected.perSession;
      return corrected({ ...drawn, perSession }, normals.correction());
    },
  };
}

/**
 * Groups sessions by user. The sessions of a user resemble each other, so a sample is only as reliable as the number of
 * its users.
 * @returns the index of each session's user, the number of users, and the sessions of an average session's user
 */
function usersOf(keys: readonly (string | null)[]): { indexes: number[]; count: number; sessionsPerUser: number } {
  const sizes: number[] = [];
  const indexOf = new Map<string, number>();
  const indexes = keys.map((key) => {
    const index = (key === null ? undefined : indexOf.get(key)) ?? sizes.push(0) - 1;
    if (key !== null) indexOf.set(key, index);
    sizes[index] = (sizes[index] as number) + 1;
    return index;
  });
  const squares = sizes.reduce((total, size) => total + size * size, 0);
  return { indexes, count: sizes.length, sessionsPerUser: squares / Math.max(1, keys.length) };
}

/** Weight of the model's rate, as a number of successes, compared with the campaign's own events. */
const modelSuccesses = 20;

/** Standard deviation of the logarithm of a rate's change over a month. */
const rateDriftSd = 0.05;

/**
 * Combines the rate that the model predicts with the events of the campaign itself.
 * @returns the combined rate, and the standard deviation of its logarithm
 */
const ownRate = (successes: number, trials: number, modelSd: number) => ({
  rateOf: (predicted: number): number =>
    predicted === 0 ? 0 : (successes + modelSuccesses) / (trials + modelSuccesses / predicted),
  sd: Math.hypot(1 / Math.sqrt(successes + Math.min(modelSuccesses, 1 / modelSd ** 2)), rateDriftSd),
});

/** Interpolates between grid points, and extrapolates by at most one standard deviation. */
function interpolate(grid: readonly number[], values: readonly number[], at: number): number {
  if (grid.length === 1) return values[0] as number;
  const right = Math.max(1, Math.min(grid.length - 1, grid.findIndex((point) => point >= at) || 1));
  const index = at > (grid.at(-1) as number) ? grid.length - 1 : right;
  const [from, to] = [grid[index - 1] as number, grid[index] as number];
  const part = Math.max(-0.5, Math.min(1.5, (at - from) / (to - from)));
  const value = (values[index - 1] as number) * (1 - part) + (values[index] as number) * part;
  return Math.max(0, value);
}

/**
 * Returns the interval of simulated sums.
 * @param unit smallest change of a sum, such as one click. The interval of a positive sum is never narrower.
 */
function intervalOf(values: readonly number[], unit = 0): Interval {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (quantile: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(quantile * sorted.length))] ?? 0;
  const [low, mid, high] = [at(bounds.low), at(bounds.mid), at(bounds.high)];
  if (high === 0) return { low, mid, high };
  return { low: Math.max(0, Math.min(low, mid - unit)), mid, high: Math.max(high, mid + unit) };
}

const byMetric = <T>(of: (metric: ForecastMetric) => T): Record<ForecastMetric, T> =>
  Object.fromEntries(metrics.map((metric) => [metric, of(metric)])) as Record<ForecastMetric, T>;

const totalsOf = (courses: readonly Course[], price: number): Record<ForecastMetric, Interval> =>
  byMetric((metric) =>
    intervalOf(
      courses.map((course) => sum(course[metric])),
      metric === 'spend' ? price : 1,
    ),
  );

/**
 * Returns the interval of a day, with the mean in the middle. The median of a day with few paid events would jump
 * between zero and the price of one event.
 */
function dailyIntervalOf(values: readonly number[]): Interval {
  const { low, high } = intervalOf(values);
  return {
    low,
    mid: Math.min(high, Math.max(low, values.reduce((total, value) => total + value, 0) / Math.max(1, values.length))),
    high,
  };
}

function* daysOf(courses: readonly Course[], hours: readonly Hour[], zone: string): Generator<void, ForecastDay[]> {
  const days: ForecastDay[] = [];
  for (let day = 0; day < horizonDays; day++) {
    const startMs = (hours[day * 24] as Hour).startMs;
    days.push({
      date: new Date(startMs + offsetMs(zone, startMs)).toISOString().slice(0, 10),
      ...byMetric((metric) => dailyIntervalOf(courses.map((course) => course[metric][day] as number))),
    });
    yield;
  }
  return days;
}

/** Share of matching sessions above which a new campaign visibly gets impressions until its rates are known. */
const triedShare = 0.001;

/** Share of futures limited by total caps above which the forecast says so. */
const oftenCapped = 0.5;

function notesOf(
  { campaign, nowMs, sessions }: ForecastInput,
  { matching, sessions: replayed, grid }: Replay,
  { expected, courses, days }: { expected: Course; courses: readonly Course[]; days: number },
): ForecastNote[] {
  const notes: ForecastNote[] = [];
  if (campaign.endMs <= nowMs) return ['ended'];
  if (campaign.startMs >= nowMs + horizonDays * 24 * hourMs) notes.push('not_started');
  if (sessions.length === 0) return [...notes, 'no_history'];
  if (days < enoughDays) notes.push('short_history');
  if (matching === 0) return [...notes, 'nothing_matches'];
  const center = grid.indexOf(0);
  const isTried = sum(expected.impressions) > triedShare * sum(expected.matching);
  if (!isTried && replayed.every(({ impressions }) => impressions[center] === 0)) return [...notes, 'never_wins'];
  if (sum(expected.impressions) < 1 && expected.capped > 0) return [...notes, 'budget_spent'];
  const capped = courses.filter((course) => course.capped > 0.02 * sum(course.impressions)).length;
  if (capped > oftenCapped * courses.length) notes.push('budget_limits');
  return notes;
}
