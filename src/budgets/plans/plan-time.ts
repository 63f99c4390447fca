import type { Model } from '../../learning/model.ts';
import { type TrafficProfile, trafficOf, weekHours } from '../../learning/traffic.ts';
import { hourMs } from '../../platform/lib/time.ts';
import { minuteOfWeek } from '../../platform/lib/time-zone.ts';
import type { Hours } from '../caps.ts';

/** Rules that determine which times count for a plan. */
export type PlanRules = {
  hours: Hours | null;
  /** Publishers that run the campaign. */
  publisherIds: readonly number[];
};

/**
 * Measures the part of a plan between two times, in epoch milliseconds. If the expected traffic is known, the result is
 * the number of requests expected during the campaign's hours (docs/guides/how-a-decision-is-made.md#pacing).
 * Otherwise, it is the open time in milliseconds. Only ratios between results are meaningful.
 */
export type PlanTime = (fromMs: number, toMs: number) => number;

type Weekly = { profile: TrafficProfile; offset: number; sums: Float64Array };

/**
 * Cached cumulative traffic by hour of the week, per campaign, valid until the model version or the time zone offset
 * changes.
 */
const weeks = new WeakMap<PlanRules, Weekly>();

/**
 * Creates the time measure for a plan.
 * @param zone time zone of the cap; hours in the user's own time zone are also evaluated in this zone, because all
 * users share one plan
 */
export function planTimeOf(rules: PlanRules, zone: string, model: Model, nowMs: number): PlanTime {
  const profile = trafficOf(model, rules.publisherIds);
  if (profile === null) return (fromMs, toMs) => openMs(rules, zone, fromMs, toMs);
  const { sums } = weekOf(rules, profile, zone, nowMs);
  const until = (atMs: number): number => {
    const hours = atMs / hourMs;
    const [whole, at] = [Math.floor(hours), Math.floor(hours) % weekHours];
    const [before, after] = [sums[at] as number, sums[at + 1] as number];
    return Math.floor(whole / weekHours) * (sums[weekHours] as number) + before + (hours - whole) * (after - before);
  };
  return (fromMs, toMs) => (toMs <= fromMs ? toMs - fromMs : until(toMs) - until(fromMs));
}

function weekOf(rules: PlanRules, profile: TrafficProfile, zone: string, nowMs: number): Weekly {
  const { hours } = rules;
  const weekStartMs = nowMs - (nowMs % (weekHours * hourMs));
  const minute = hours === null ? 0 : minuteOfWeek(hours.zone ?? zone, nowMs);
  const offset = hours === null ? 0 : minute - Math.floor((nowMs - weekStartMs) / 60_000);
  const cachedWeek = weeks.get(rules);
  if (cachedWeek?.profile === profile && cachedWeek.offset === offset) return cachedWeek;
  const sums = new Float64Array(weekHours + 1);
  for (let hour = 0; hour < weekHours; hour++) {
    const open = hours === null ? 1 : openMinutes(hours, (hour * 60 + offset + 2 * weekMinutes) % weekMinutes, 60) / 60;
    sums[hour + 1] = (sums[hour] as number) + open * (profile[hour] as number);
  }
  const week = { profile, offset, sums };
  weeks.set(rules, week);
  return week;
}

const weekMinutes = 10_080;

/**
 * Time within the campaign's hours, in milliseconds. If daylight saving time starts or ends within the period, the
 * hours are shifted by one hour.
 */
export function openMs({ hours }: PlanRules, zone: string, fromMs: number, toMs: number): number {
  if (hours === null || toMs <= fromMs) return toMs - fromMs;
  const minutes = (toMs - fromMs) / 60_000;
  const whole = Math.floor(minutes / weekMinutes);
  const open = whole === 0 ? 0 : whole * openMinutes(hours, 0, weekMinutes);
  const start = minuteOfWeek(hours.zone ?? zone, fromMs);
  return (open + openMinutes(hours, start, minutes - whole * weekMinutes)) * 60_000;
}

/** Open minutes in a period that starts at the given minute of the week and may extend into the next week. */
function openMinutes({ windows }: Hours, start: number, minutes: number): number {
  let open = 0;
  for (const window of windows)
    for (const shift of [0, weekMinutes])
      open += Math.max(0, Math.min(start + minutes, window.end + shift) - Math.max(start, window.start + shift));
  return open;
}
