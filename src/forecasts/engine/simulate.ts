import type { CapMetric, TotalCap } from '../../catalog/rules.ts';
import { dayMs, hourMs } from '../../platform/lib/time.ts';
import { periodOf } from '../../platform/lib/time-zone.ts';
import type { Random } from './random.ts';
import { type ForecastCampaign, horizonDays } from './types.ts';

/** Rates of one possible future. */
export type Scenario = {
  /** Impressions per session in the campaign's schedule hours, before caps. */
  perSession: number;
  clickRate: number;
  conversionRate: number;
  matchingShare: number;
  /** Share of impressions that remain after frequency caps and opt-outs, by day. */
  remainingShare: Float64Array;
};

/** Daily sums of a simulated future. `possible` contains the impressions if there were no total caps and dates. */
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

/** Total cap during the simulation. */
type CapState = {
  cap: TotalCap;
  limit: number;
  used: number;
  periodEndMs: number;
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
  const { perSession, clickRate, conversionRate } = scenario;
  const count = (mean: number): number => (random === null ? mean : random.poisson(mean));
  const add = (sums: Float64Array, day: number, value: number): void => {
    sums[day] = (sums[day] as number) + value;
  };
  for (const [at, { startMs, open, active }] of hours.entries()) {
    const day = Math.floor(at / 24);
    const traffic = sessions[at] as number;
    add(course.sessions, day, traffic);
    add(course.matching, day, traffic * open * scenario.matchingShare);
    const possible = traffic * open * perSession * (scenario.remainingShare[day] as number);
    add(course.possible, day, possible);
    const demand = count(traffic * active * perSession * (scenario.remainingShare[day] as number));
    let allowed = demand;
    for (const state of caps) {
      if (startMs >= state.periodEndMs) beginPeriod(campaign, state, hours, sessions, at);
      state.elapsed += traffic * active;
      const room = roomOf(state, campaign.pacing);
      const perImpression = usePerImpression(state.cap.metric, campaign, scenario);
      if (perImpression > 0) allowed = Math.min(allowed, room / perImpression);
    }
    allowed = Math.max(0, allowed);
    course.capped += demand - allowed;
    const clicks = Math.min(allowed, count(allowed * clickRate));
    const conversions = count(clicks * conversionRate);
    const spend = spendOf(campaign, allowed, clicks, conversions);
    let paid = spend;
    for (const state of caps) {
      const use = { impressions: allowed, clicks, budget: spend }[state.cap.metric as string] ?? 0;
      if (state.cap.metric === 'budget') paid = Math.min(paid, Math.max(0, state.limit - state.used));
      state.used += use;
    }
    add(course.impressions, day, allowed);
    add(course.clicks, day, clicks);
    add(course.spend, day, paid);
  }
  return course;
}

const usePerImpression = (metric: CapMetric, campaign: ForecastCampaign, scenario: Scenario): number => {
  if (metric === 'impressions') return 1;
  if (metric === 'clicks') return scenario.clickRate;
  return metric === 'budget'
    ? spendOf(campaign, 1, scenario.clickRate, scenario.clickRate * scenario.conversionRate)
    : 0;
};

/** Assumed sale value for percentage payouts, in millionths. */
const assumedSaleMicros = 50_000_000;

/** Returns the revenue in millionths of the payout currency. */
function spendOf({ payout }: ForecastCampaign, impressions: number, clicks: number, conversions: number): number {
  const { kind, amountMicros } = payout;
  if (kind === 'cpm') return (impressions * amountMicros) / 1000;
  if (kind === 'cpc') return clicks * amountMicros;
  return conversions * (kind === 'cps' ? (amountMicros / 100_000_000) * assumedSaleMicros : amountMicros);
}

function capStateOf(
  campaign: ForecastCampaign,
  cap: TotalCap,
  hours: readonly Hour[],
  sessions: Float64Array,
): CapState {
  const state = { cap, limit: usableLimit(campaign, cap), used: 0, periodEndMs: 0, planned: 0, elapsed: 0, before: 0 };
  beginPeriod(campaign, state, hours, sessions, 0);
  state.used = campaign.used(cap.metric, cap.per);
  if (cap.per === 'lifetime') state.before = state.used;
  return state;
}

/** Returns the usable part of a cap. If a budget's remainder is below the price of an event, it cannot be spent. */
function usableLimit({ payout }: ForecastCampaign, { metric, limit }: TotalCap): number {
  if (metric !== 'budget') return limit;
  const price = Math.max(1, payout.kind === 'cpm' ? payout.amountMicros / 1000 : payout.amountMicros);
  return payout.kind === 'cps' ? limit * 1_000_000 : Math.floor((limit * 1_000_000) / price) * price;
}

function beginPeriod(
  { zone, startMs, endMs, pacing }: ForecastCampaign,
  state: CapState,
  hours: readonly Hour[],
  sessions: Float64Array,
  from: number,
): void {
  const nowMs = hours[from]?.startMs as number;
  const period = periodOf(state.cap.per, zone, nowMs);
  Object.assign(state, { used: 0, before: 0, periodEndMs: period.endMs, planned: 0, elapsed: 0 });
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

/** Returns how much of a cap the campaign can use by the end of the hour. */
function roomOf(state: CapState, pacing: ForecastCampaign['pacing']): number {
  const { cap, limit, used, planned, elapsed, before } = state;
  const rest = limit - used;
  if (pacing === 'asap' || cap.per === 'hour' || planned <= 0) return rest;
  const share = Math.min(1, elapsed / planned / planEnd);
  const shared = pacing === 'front_loaded' ? share * (2 - share) : share;
  return Math.min(rest, shared * (limit - before) - (used - before) + 0.005 * limit);
}
