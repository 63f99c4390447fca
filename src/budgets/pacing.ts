import type { Pacing } from '../catalog/rules.ts';
import { minuteOfWeek, periodOf } from '../platform/lib/time-zone.ts';
import { usedOf } from './cap-rules.ts';
import type { CompiledTotalCap, Hours, Totals } from './caps.ts';

/** What pacing knows of a campaign's rules; times in epoch milliseconds. */
type PacedRules = {
  pacing: Pacing;
  totalCaps: readonly CompiledTotalCap[];
  startMs: number;
  endMs: number;
  hours: Hours | null;
};

/** A campaign ahead of its plan still takes part in this share of decisions, so that its rates stay known. */
const minProbability = 0.005;

/** Deviation from the plan over which the probability falls from 1 to its minimum (share of the limit). */
const controlWidth = 0.01;

/** The plan reaches the limit at this share of the time, so that late events still fit. */
const planEnd = 0.99;

/**
 * The probability with which a campaign takes part in this decision: 1 behind its plan, the minimum ahead of it; the
 * lowest of its daily, monthly and lifetime caps (docs/guides/how-a-decision-is-made.md#pacing). The deviation is a
 * difference, not a ratio: at the start of a day both use and plan are 0.
 */
export function pacingProbability(rules: PacedRules, totals: Totals, nowMs: number): number {
  let probability = 1;
  if (rules.pacing === 'asap') return probability;
  for (const cap of rules.totalCaps) {
    const plan = planOf(cap, rules, totals, nowMs);
    if (plan === null || plan.limit <= 0) continue;
    const planned = plan.limit * plannedShare(rules.pacing, plan.elapsed);
    probability = Math.min(probability, 0.5 + (planned - plan.used) / (controlWidth * plan.limit));
  }
  return Math.max(minProbability, probability);
}

/** Share of the limit that the plan has used after a share of the time. */
function plannedShare(pacing: Pacing, elapsed: number): number {
  const at = Math.min(1, elapsed / planEnd);
  return pacing === 'front_loaded' ? at * (2 - at) : at;
}

/** `elapsed`: share of the time. */
type Plan = { limit: number; used: number; elapsed: number };

/** The amount of a cap to be spread over the current period; null for caps without pacing. */
function planOf(cap: CompiledTotalCap, rules: PacedRules, totals: Totals, nowMs: number): Plan | null {
  const use = totals.get(cap.key);
  const { per } = cap.cap;
  if (per === 'hour') return null;
  if (per !== 'lifetime') {
    const period = periodOf(per, cap.zone, nowMs);
    return { limit: cap.limit, used: usedOf(cap, use), elapsed: elapsedOf(period, rules, cap.zone, nowMs) };
  }
  // The rest of a lifetime is divided equally among the remaining days; each day has its own plan.
  if (rules.endMs === Number.POSITIVE_INFINITY) return null;
  const day = periodOf('day', cap.zone, nowMs);
  const today = use?.[cap.cap.metric].day ?? 0;
  const left = cap.limit - (usedOf(cap, use) - today);
  const startMs = Math.max(day.startMs, rules.startMs);
  const share = (Math.min(day.endMs, rules.endMs) - startMs) / (rules.endMs - startMs);
  return { limit: left * share, used: today, elapsed: elapsedOf(day, rules, cap.zone, nowMs) };
}

/**
 * Elapsed share of a period, counting only the time in which the campaign runs. Hours of each user's own time zone are
 * taken in that of the cap, for there is one plan for all users.
 */
function elapsedOf(
  period: { startMs: number; endMs: number },
  { startMs, endMs, hours }: PacedRules,
  capZone: string,
  nowMs: number,
): number {
  const from = Math.max(period.startMs, startMs);
  const to = Math.min(period.endMs, endMs);
  const minutes = hours === null || to - from > 26 * 3_600_000 ? null : { hours, zone: hours.zone ?? capZone };
  const [elapsed, total] =
    minutes === null ? [nowMs - from, to - from] : [openMinutes(minutes, from, nowMs), openMinutes(minutes, from, to)];
  return total <= 0 ? 1 : Math.min(1, Math.max(0, elapsed / total));
}

/** Minutes of a part of a day within the campaign's hours; a clock change on that day shifts them by an hour. */
function openMinutes({ hours, zone }: { hours: Hours; zone: string }, fromMs: number, toMs: number): number {
  const start = minuteOfWeek(zone, fromMs);
  const end = start + (toMs - fromMs) / 60_000;
  let open = 0;
  for (const window of hours.windows) {
    // Sunday's part may extend into Monday.
    for (const shift of [0, 10_080])
      open += Math.max(0, Math.min(end, window.end + shift) - Math.max(start, window.start + shift));
  }
  return open;
}
