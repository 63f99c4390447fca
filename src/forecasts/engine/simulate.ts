import type { TotalCap } from '../../catalog/rules.ts';
import type { Payout } from '../../catalog/types.ts';
import { dayMs, hourMs } from '../../platform/lib/time.ts';
import { periodOf } from '../../platform/lib/time-zone.ts';
import type { Random } from './random.ts';
import { type ForecastCampaign, horizonDays } from './types.ts';

/** Rates of one possible future. */
export type Scenario = {
  /** Impressions per session in the campaign's schedule hours, before caps, once the rates are known. */
  perSession: number;
  /** The same at the start of a new campaign, and the number of impressions after which its rates are half known. */
  start: { perSession: number; halfKnown: number } | null;
  clickRate: number;
  conversionRate: number;
  matchingShare: number;
  /** Share of impressions that remain after frequency caps and opt-outs, by day. */
  remainingShare: Float64Array;
};

/** Daily totals of a simulated future. `possible` contains the impressions if there were no total caps and dates. */
export type Course = Record<'sessions' | 'matching' | 'impressions' | 'clicks' | 'spend' | 'possible', Float64Array> & {
  /** Number of impressions that total caps prevented. */
  capped: number;
};

/** Returns the share of an hour, from 0 to 1, during which a schedule is open. The hour begins at the given time. */
export type OpenShare = (atMs: number) => number;

/** Future hour, with the share of the hour in which the campaign runs. */
export type Hour = { startMs: number; open: number; active: number };

/** Returns the hours of the forecast period. */
export function hoursOf(
  startsMs: readonly number[],
  { startMs, endMs }: ForecastCampaign,
  openShare: OpenShare,
): Hour[] {
  return startsMs.map((atMs) => {
    const open = openShare(atMs);
    const overlap = Math.min(atMs + hourMs, endMs) - Math.max(atMs, startMs);
    return { startMs: atMs, open, active: open * Math.max(0, Math.min(1, overlap / hourMs)) };
  });
}

/** Events of an hour. */
type Events = { impressions: number; clicks: number; conversions: number };

/** Total cap during the simulation. */
type CapState = {
  cap: TotalCap;
  payout: Payout;
  limit: number;
  /** Usage by one event: 1 or, for budgets, the price of a paid event. */
  unit: number;
  /** Whether clicks or conversions use up the cap, rather than every impression. */
  isRare: boolean;
  used: number;
  periodEndMs: number;
  /** Usage at the start of the simulated part of the period, and what would be used since then without the cap. */
  initial: number;
  uncapped: number;
  /** Expected traffic in the period while the campaign runs, and the part that has already passed. */
  planned: number;
  elapsed: number;
  /** Usage before the pacing plan began. For a lifetime cap, the plan covers only what was left then. */
  before: number;
};

/** Share of the period after which a pacing plan reaches the limit. */
const planEnd = 0.99;

/**
 * Simulates the days of one possible future hour by hour, with total caps, budgets, pacing and dates.
 * @param sessions sessions of each hour
 */
export function simulateCourse(
  campaign: ForecastCampaign,
  hours: readonly Hour[],
  sessions: Float64Array,
  scenario: Scenario,
  random: Random | null,
): Course {
  const daily = (): Float64Array => new Float64Array(horizonDays);
  const course: Course = {
    sessions: daily(),
    matching: daily(),
    impressions: daily(),
    clicks: daily(),
    spend: daily(),
    possible: daily(),
    capped: 0,
  };
  const caps = campaign.totalCaps.map((cap): CapState => capStateOf(campaign, cap, hours, sessions));
  const { clickRate, conversionRate } = scenario;
  let impressionsSoFar = 0;
  const count = (mean: number): number => (random === null ? mean : random.poisson(mean));
  const add = (sums: Float64Array, day: number, value: number): void => {
    sums[day] = (sums[day] as number) + value;
  };
  for (const [at, { startMs, open, active }] of hours.entries()) {
    const day = Math.floor(at / 24);
    const traffic = sessions[at] as number;
    add(course.sessions, day, traffic);
    add(course.matching, day, traffic * open * scenario.matchingShare);
    const perSession = perSessionAfter(impressionsSoFar, scenario);
    const possible = traffic * open * perSession * (scenario.remainingShare[day] as number);
    add(course.possible, day, possible);
    const impressions = count(traffic * active * perSession * (scenario.remainingShare[day] as number));
    const clicks = Math.min(impressions, count(impressions * clickRate));
    const demand: Events = { impressions, clicks, conversions: Math.min(clicks, count(clicks * conversionRate)) };
    let delivered = demand;
    for (const state of caps) {
      if (startMs >= state.periodEndMs) beginPeriod(campaign, state, hours, sessions, at);
      state.elapsed += traffic * active;
      const use = useOf(state, demand);
      const shareOf = random === null ? expectedShare : drawnShare;
      const share = shareOf(state, use, campaign.pacing);
      if (share * impressions >= delivered.impressions) continue;
      delivered = partOf(demand, share, state.isRare && random !== null);
    }
    impressionsSoFar += delivered.impressions;
    course.capped += impressions - delivered.impressions;
    let paid = spendOf(campaign.payout, delivered);
    for (const state of caps) {
      if (state.cap.metric === 'budget') paid = Math.min(paid, Math.max(0, state.limit - state.used));
      state.used += useOf(state, delivered);
    }
    add(course.impressions, day, delivered.impressions);
    add(course.clicks, day, delivered.clicks);
    add(course.spend, day, paid);
  }
  return course;
}

/**
 * Returns the impressions per session after a number of impressions from which the rates have been learned. These move
 * the estimate and also make it more certain, so their effect is squared.
 */
function perSessionAfter(impressionsSoFar: number, { perSession, start }: Scenario): number {
  if (start === null) return perSession;
  return perSession + (start.perSession - perSession) * (start.halfKnown / (start.halfKnown + impressionsSoFar)) ** 2;
}

/** Returns the events up to a share of an hour. If that share ends with a click, clicks remain whole numbers. */
function partOf({ impressions, clicks, conversions }: Events, share: number, isWhole: boolean): Events {
  const part = (value: number): number => (isWhole ? Math.min(value, Math.round(share * (value + 1))) : share * value);
  return { impressions: share * impressions, clicks: part(clicks), conversions: part(conversions) };
}

/**
 * Returns the share of an hour until a cap is reached, for drawn events. An impression is delivered if there is any
 * room, so the hour ends with the event that uses up the rest.
 */
function drawnShare(state: CapState, use: number, pacing: ForecastCampaign['pacing']): number {
  const room = Math.max(0, Math.ceil(roomOf(state, pacing) / state.unit - 1e-6));
  const events = use / state.unit;
  // Clicks and conversions are spread evenly over the impressions of the hour.
  return events < room ? 1 : room / (state.isRare ? events + 1 : Math.max(1, events));
}

/** Returns the expected share of an hour until a cap is reached. */
function expectedShare(state: CapState, use: number, pacing: ForecastCampaign['pacing']): number {
  const middle = state.uncapped + use / 2;
  state.uncapped += use;
  if (use === 0) return 1;
  if (isPaced(state, pacing)) return Math.max(0, Math.min(1, roomOf(state, pacing) / use));
  return chanceBelow(Math.floor((state.limit - state.initial) / state.unit + 1e-6), middle / state.unit);
}

/** Returns the probability that fewer than `limit` events have occurred (Wilson and Hilferty). */
function chanceBelow(limit: number, mean: number): number {
  if (limit <= 0) return 0;
  const deviations = 3 * Math.sqrt(limit) * (1 - 1 / (9 * limit) - Math.cbrt(mean / limit));
  return 1 / (1 + Math.exp(-1.702 * deviations));
}

/** Assumed sale value for percentage payouts, in millionths. */
const assumedSaleMicros = 50_000_000;

/** Returns the price of one paid event, in millionths of the payout currency. */
export const priceOf = ({ kind, amountMicros }: Payout): number =>
  kind === 'cpm'
    ? amountMicros / 1000
    : kind === 'cps'
      ? (amountMicros / 100_000_000) * assumedSaleMicros
      : amountMicros;

/** Returns the revenue in millionths of the payout currency. */
function spendOf(payout: Payout, { impressions, clicks, conversions }: Events): number {
  const { kind } = payout;
  return priceOf(payout) * (kind === 'cpm' ? impressions : kind === 'cpc' ? clicks : conversions);
}

/** Returns how much of a cap the events use. */
function useOf({ cap: { metric }, payout }: CapState, events: Events): number {
  if (metric === 'budget') return spendOf(payout, events);
  return metric === 'impressions' || metric === 'clicks' ? events[metric] : 0;
}

function capStateOf(
  campaign: ForecastCampaign,
  cap: TotalCap,
  hours: readonly Hour[],
  sessions: Float64Array,
): CapState {
  const { payout } = campaign;
  const isBudget = cap.metric === 'budget';
  const unit = isBudget ? Math.max(1, priceOf(payout)) : 1;
  const state: CapState = {
    cap,
    payout,
    limit: isBudget ? usableBudget(payout, cap.limit * 1_000_000) : cap.limit,
    unit,
    isRare: isBudget ? payout.kind !== 'cpm' : cap.metric === 'clicks',
    used: 0,
    periodEndMs: 0,
    initial: 0,
    uncapped: 0,
    planned: 0,
    elapsed: 0,
    before: 0,
  };
  beginPeriod(campaign, state, hours, sessions, 0);
  state.used = campaign.used(cap.metric, cap.per);
  state.initial = state.used;
  if (cap.per === 'lifetime') state.before = state.used;
  return state;
}

/** Returns the usable part of a budget. If its remainder is below the price of an event, it cannot be spent. */
const usableBudget = (payout: Payout, limit: number): number =>
  payout.kind === 'cps' ? limit : Math.floor(limit / Math.max(1, priceOf(payout))) * Math.max(1, priceOf(payout));

function beginPeriod(
  { zone, startMs, endMs, pacing }: ForecastCampaign,
  state: CapState,
  hours: readonly Hour[],
  sessions: Float64Array,
  from: number,
): void {
  const nowMs = hours[from]?.startMs as number;
  const period = periodOf(state.cap.per, zone, nowMs);
  Object.assign(state, {
    used: 0,
    initial: 0,
    uncapped: 0,
    before: 0,
    periodEndMs: period.endMs,
    planned: 0,
    elapsed: 0,
  });
  if (pacing === 'asap' || state.cap.per === 'hour') return;
  const untilMs = Math.min(period.endMs, endMs);
  // A plan needs an end. Without one, a lifetime cap would be used up on the first day.
  const planEndMs =
    untilMs === Number.POSITIVE_INFINITY ? periodOf('day', zone, Math.max(nowMs, startMs)).endMs : untilMs;
  for (let at = from; at < hours.length && (hours[at]?.startMs as number) < planEndMs; at++)
    state.planned += (sessions[at] as number) * (hours[at] as Hour).active;
  const beyondMs = planEndMs - ((hours.at(-1)?.startMs as number) + hourMs);
  if (beyondMs > 0) state.planned *= 1 + beyondMs / (horizonDays * dayMs);
  if (from > 0 || state.cap.per === 'lifetime') return;
  // The period began before the forecast, and so did its plan.
  const overMs = nowMs - Math.max(period.startMs, startMs);
  if (overMs <= 0) return;
  const before = (state.planned * overMs) / Math.max(hourMs, planEndMs - nowMs);
  state.elapsed = before;
  state.planned += before;
}

const isPaced = ({ cap, planned }: CapState, pacing: ForecastCampaign['pacing']): boolean =>
  pacing !== 'asap' && cap.per !== 'hour' && planned > 0;

/** Returns how much of a cap the campaign can use by the end of the hour. */
function roomOf(state: CapState, pacing: ForecastCampaign['pacing']): number {
  const { limit, used, planned, elapsed, before } = state;
  const rest = limit - used;
  if (!isPaced(state, pacing)) return rest;
  const share = Math.min(1, elapsed / planned / planEnd);
  const shared = pacing === 'front_loaded' ? share * (2 - share) : share;
  return Math.min(rest, shared * (limit - before) - (used - before) + 0.005 * limit);
}
