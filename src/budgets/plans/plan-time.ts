import type { Model } from '../../learning/model.ts';
import { type TrafficProfile, trafficOf, weekHours } from '../../learning/traffic.ts';
import { hourMs } from '../../platform/lib/time.ts';
import { minuteOfWeek } from '../../platform/lib/time-zone.ts';
import type { Hours } from '../caps.ts';

/** What the time of a plan depends on; times in epoch milliseconds. */
export type PlanRules = {
  hours: Hours | null;
  /** Whose requests the campaign is shown to. */
  publisherIds: readonly number[];
};

/**
 * How much of a plan lies between two times: the requests that are expected while the campaign's hours are open, where
 * the traffic is known (docs/guides/how-a-decision-is-made.md#pacing), else open milliseconds. Only ratios of it count.
 */
export type PlanTime = (fromMs: number, toMs: number) => number;

type Weekly = { profile: TrafficProfile; offset: number; sums: Float64Array };

/** The week of a campaign, as long as neither the model's version nor the offset of its time zone changes. */
const weeks = new WeakMap<PlanRules, Weekly>();

/** @param zone that of the cap: hours of each user's own time zone are taken in it, for there is one plan for all */
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
  const known = weeks.get(rules);
  if (known?.profile === profile && known.offset === offset) return known;
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

/** The part of a time within the campaign's hours (milliseconds); a clock change shifts them by an hour. */
export function openMs({ hours }: PlanRules, zone: string, fromMs: number, toMs: number): number {
  if (hours === null || toMs <= fromMs) return toMs - fromMs;
  const minutes = (toMs - fromMs) / 60_000;
  const whole = Math.floor(minutes / weekMinutes);
  const open = whole === 0 ? 0 : whole * openMinutes(hours, 0, weekMinutes);
  const start = minuteOfWeek(hours.zone ?? zone, fromMs);
  return (open + openMinutes(hours, start, minutes - whole * weekMinutes)) * 60_000;
}

/** Open minutes from a minute of the week on; they may extend into the next week. */
function openMinutes({ windows }: Hours, start: number, minutes: number): number {
  let open = 0;
  for (const window of windows)
    for (const shift of [0, weekMinutes])
      open += Math.max(0, Math.min(start + minutes, window.end + shift) - Math.max(start, window.start + shift));
  return open;
}
