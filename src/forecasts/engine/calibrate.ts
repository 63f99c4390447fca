import { dayMs, hourMs } from '../../platform/lib/time.ts';
import { type Hour, hoursOf, type OpenShare, type Scenario, simulateCourse } from './simulate.ts';
import { type ForecastCampaign, type HourlySessions, horizonDays } from './types.ts';

/** Correction of the impressions per session, based on what the campaign has delivered. */
export type Calibration = {
  /** Factor that the delivered impressions suggest. */
  factor: number;
  /** Weight of the factor relative to the result of the repeated decisions, from 0 to 1. */
  weight: number;
};

/**
 * Lengths of the period in which deliveries are compared with a simulation, and the campaign age from which the long
 * period is used. In its first weeks, a campaign delivers differently, because the ranking is still learning its rates.
 */
const [shortMs, longMs, matureMs] = [7 * dayMs, 28 * dayMs, 35 * dayMs];

/** Returns the length of the period in which deliveries are compared with a simulation, in milliseconds. */
export const comparedMs = (ageMs: number): number => (ageMs < matureMs ? shortMs : longMs);

const uncalibrated: Calibration = { factor: 1, weight: 0 };

/** Standard deviation of the logarithm of the ratio between a campaign's deliveries in two consecutive months. */
const monthSd = 0.06;

/** Minimum effect of the impressions per session on the delivered impressions. Below it, total caps hide the effect. */
const leastReaction = 0.25;

/** Maximum factor by which the impressions per session are increased or reduced. */
const maxFactor = 8;

type Options = {
  hours: readonly HourlySessions[];
  openShare: OpenShare;
  nowMs: number;
  /** Scenario from the repeated decisions. */
  central: Scenario;
  /** Standard deviation of the logarithm of its impressions per session. */
  centralSd: number;
};

/**
 * Compares what a campaign has delivered with a simulation of the same period. The simulation applies its total caps,
 * so a campaign that is limited by its budget is not mistaken for one that rarely wins.
 */
export function calibrate(
  campaign: ForecastCampaign,
  { hours, openShare, nowMs, central, centralSd }: Options,
): Calibration {
  const { delivered } = campaign;
  if (delivered === null || delivered.impressions === 0 || central.perSession === 0) return uncalibrated;
  const fromMs = Math.max(delivered.fromMs, nowMs - horizonDays * 24 * hourMs);
  const count = Math.floor((nowMs - fromMs) / hourMs);
  const startsMs = Array.from({ length: count }, (_, at) => nowMs - (count - at) * hourMs);
  // In some time zones, the publisher's hours begin in the middle of an hour.
  const sessionsAt = new Map(
    hours.map(({ startMs, sessions }) => [Math.floor(startMs / hourMs) * hourMs, sessions] as const),
  );
  const sessions = Float64Array.from(startsMs, (startMs) => sessionsAt.get(startMs) ?? 0);
  const past: ForecastCampaign = { ...campaign, used: usageBefore(campaign) };
  const pastHours = hoursOf(startsMs, past, openShare);
  const deliveredWith = (factor: number): number => deliver(past, pastHours, sessions, central, factor);

  const step = 1.1;
  const reaction = Math.log(deliveredWith(step) / deliveredWith(1 / step)) / (2 * Math.log(step));
  if (!(reaction >= leastReaction)) return uncalibrated;
  let [low, high] = [-Math.log(maxFactor), Math.log(maxFactor)];
  for (let run = 0; run < 24; run++) {
    const middle = (low + high) / 2;
    if (deliveredWith(Math.exp(middle)) < delivered.impressions) low = middle;
    else high = middle;
  }
  const variance = (1 / delivered.impressions + monthSd ** 2) / reaction ** 2;
  return { factor: Math.exp((low + high) / 2), weight: centralSd ** 2 / (centralSd ** 2 + variance) };
}

/** Returns the usage of total caps at the start of the compared period. Only lifetime caps have usage at that time. */
const usageBefore =
  ({ used, delivered, recent, payout }: ForecastCampaign): ForecastCampaign['used'] =>
  (metric, per) => {
    if (per !== 'lifetime' || delivered === null) return 0;
    const price = payout.kind === 'cpm' ? payout.amountMicros / 1000 : payout.amountMicros;
    const paid =
      payout.kind === 'cpm' ? delivered.impressions : payout.kind === 'cpc' ? recent.clicks : recent.conversions;
    const since = metric === 'budget' ? paid * price : metric === 'clicks' ? recent.clicks : delivered.impressions;
    return Math.max(0, used(metric, per) - since);
  };

function deliver(
  campaign: ForecastCampaign,
  hours: readonly Hour[],
  sessions: Float64Array,
  central: Scenario,
  factor: number,
): number {
  const remainingShare = new Float64Array(horizonDays).fill(1);
  const scenario = { ...central, perSession: central.perSession * factor, remainingShare };
  return simulateCourse(campaign, hours, sessions, scenario, null).impressions.reduce((sum, value) => sum + value, 0);
}
