import { dayMs, hourMs } from '../../platform/lib/time.ts';
import { type Hour, hoursOf, type OpenShare, type Scenario, simulateCourse } from './simulate.ts';
import { type ForecastCampaign, type HourlySessions, horizonDays } from './types.ts';

const weekMs = 7 * dayMs;

/**
 * Correction of the impressions per session, based on what the campaign has delivered. Both values apply to the
 * logarithm.
 */
export type Calibration = {
  /** Expected correction in the forecast period. */
  mean: number;
  /** Variance of the correction around its expected value. */
  variance: number;
};

/** Maximum number of weeks in which deliveries are compared with a simulation. */
const comparedWeeks = 6;

/** Shortest part of a week that is compared, in milliseconds. */
const leastComparedMs = 3 * dayMs;

/** Returns the weeks to compare for a campaign that has been shown unchanged since `sinceMs`, oldest first. */
export function weeksSince(sinceMs: number, untilMs: number): { fromMs: number; untilMs: number }[] {
  return Array.from({ length: comparedWeeks }, (_, at) => {
    const endMs = untilMs - (comparedWeeks - 1 - at) * weekMs;
    return { fromMs: Math.max(sinceMs, endMs - weekMs), untilMs: endMs };
  }).filter((week) => week.untilMs - week.fromMs >= leastComparedMs);
}

/**
 * Assumed standard deviation of the logarithm of the weekly change of a campaign's impressions per session, and its
 * weight as a number of weeks. The changes of the campaign's own weeks replace it with time.
 */
const assumedChange = { sd: 0.08, weeks: 1 };

/** Weight of a week's change compared with the next week. A campaign changes less once its rates are known. */
const fading = 0.7;

/** Weeks of change that the mean of the forecast period contains. */
const horizonWeeks = 2;

/** Variance of the logarithm of future changes in the competition, if a campaign has no history. */
export const assumedVariance = horizonWeeks * assumedChange.sd ** 2;

/** Minimum effect of the impressions per session on the delivered impressions. Below it, total caps hide the effect. */
const leastReaction = 0.25;

/** Maximum factor by which the impressions per session are increased or reduced. */
const maxFactor = 8;

type Options = {
  hours: readonly HourlySessions[];
  openShare: OpenShare;
  /** Scenario from the repeated decisions. */
  central: Scenario;
  /** Standard deviation of the logarithm of its impressions per session. */
  centralSd: number;
};

/** Correction that a week suggests, with its variance. `isFirst` marks the first week of a new campaign. */
type Observation = { value: number; variance: number; isFirst: boolean };

/**
 * Compares what a campaign has delivered in recent weeks with a simulation of the same weeks. Recent weeks count more
 * if the weeks differ from each other. The simulation applies the total caps, so a campaign that is limited by its
 * budget is not mistaken for one that rarely wins.
 * @returns null if the deliveries show nothing
 */
export function* calibrate(campaign: ForecastCampaign, options: Options): Generator<void, Calibration | null> {
  const { central, centralSd } = options;
  if (central.perSession === 0) return null;
  const weeks: Observation[] = [];
  for (const at of campaign.delivered.keys()) {
    const week = observed(campaign, at, options);
    if (week !== null) weeks.push(week);
    yield;
  }
  const [first] = weeks;
  if (first === undefined) return null;
  const { sd, weeks: assumedWeeks } = assumedChange;
  let [changes, weight] = [0, 0];
  for (const [at, { value, variance }] of weeks.slice(1).entries()) {
    const before = weeks[at] as Observation;
    // Rates are learned in the first week, so the change after it says little about later ones.
    if (before.isFirst) continue;
    changes = fading * changes + (value - before.value) ** 2 - variance - before.variance;
    weight = fading * weight + 1;
  }
  const change = Math.max(sd ** 2 / 4, (changes + assumedWeeks * sd ** 2) / (weight + assumedWeeks));
  let { value: mean, variance } = first;
  for (const week of weeks.slice(1)) {
    variance += change;
    const gain = variance / (variance + week.variance);
    mean += gain * (week.value - mean);
    variance *= 1 - gain;
  }
  // The repeated decisions show the present, so they are a further observation.
  const share = centralSd ** 2 / (centralSd ** 2 + variance);
  return { mean: share * mean, variance: share * variance + horizonWeeks * change };
}

/** Returns the correction that a week of deliveries suggests, or null if it suggests none. */
function observed(campaign: ForecastCampaign, at: number, { hours, openShare, central }: Options): Observation | null {
  const { fromMs, untilMs, impressions } = campaign.delivered[at] as ForecastCampaign['delivered'][number];
  if (impressions === 0) return null;
  const startsMs = Array.from({ length: Math.floor((untilMs - fromMs) / hourMs) }, (_, hour) => fromMs + hour * hourMs);
  // In some time zones, the publisher's hours begin in the middle of an hour.
  const sessionsAt = new Map(
    hours.map(({ startMs, sessions }) => [Math.floor(startMs / hourMs) * hourMs, sessions] as const),
  );
  const sessions = Float64Array.from(startsMs, (startMs) => sessionsAt.get(startMs) ?? 0);
  const past: ForecastCampaign = { ...campaign, used: usageBefore(campaign, at) };
  const pastHours = hoursOf(startsMs, past, openShare);
  const deliveredWith = (factor: number): number => deliver(past, pastHours, sessions, central, factor);

  const step = 1.1;
  const reaction = Math.log(deliveredWith(step) / deliveredWith(1 / step)) / (2 * Math.log(step));
  if (!(reaction >= leastReaction)) return null;
  let [low, high] = [-Math.log(maxFactor), Math.log(maxFactor)];
  for (let run = 0; run < 20; run++) {
    const middle = (low + high) / 2;
    if (deliveredWith(Math.exp(middle)) < impressions) low = middle;
    else high = middle;
  }
  const isFirst = campaign.liveSinceMs !== null && fromMs < campaign.liveSinceMs + weekMs;
  return { value: (low + high) / 2, variance: 1 / impressions / reaction ** 2, isFirst };
}

/** Returns the usage of total caps at the start of a compared week. Only lifetime caps have usage at that time. */
const usageBefore =
  ({ used, delivered, recent, payout }: ForecastCampaign, week: number): ForecastCampaign['used'] =>
  (metric, per) => {
    if (per !== 'lifetime') return 0;
    const impressions = delivered.slice(week).reduce((sum, later) => sum + later.impressions, 0);
    const share = recent.impressions === 0 ? 0 : impressions / recent.impressions;
    const price = payout.kind === 'cpm' ? payout.amountMicros / 1000 : payout.amountMicros;
    const paid =
      payout.kind === 'cpm' ? impressions : share * (payout.kind === 'cpc' ? recent.clicks : recent.conversions);
    const since = metric === 'budget' ? paid * price : metric === 'clicks' ? share * recent.clicks : impressions;
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
