import { minuteOfWeek, periodOf } from '../../platform/lib/time-zone.ts';
import type { CompiledRules, CompiledTotalCap, Hours } from '../index/compile.ts';
import { usedOf } from '../rules/caps.ts';
import type { Totals } from '../types.ts';

/** The least chance to be shown: a campaign that is ahead of its curve still learns (share of decisions). */
const leastChance = 0.005;

/** How far from its curve a campaign goes from always to hardly ever (share of the limit). */
const width = 0.01;

/**
 * The curve reaches the whole limit a little before the end, so that what is late still goes out (share of the time).
 */
const finish = 0.99;

/**
 * The chance with which pacing lets a campaign take part in this decision: 1 behind its curve, little ahead of it. The
 * most
 * pressing of its daily, monthly and lifetime caps decides. Use is compared by difference with the limit as the
 * measure,
 * so that a day that begins with nothing spent needs no special case.
 */
export function pacingChance(rules: CompiledRules, totals: Totals, nowMs: number): number {
  let chance = 1;
  if (rules.pacing === 'asap') return chance;
  for (const cap of rules.totalCaps) {
    const plan = planOf(cap, rules, totals, nowMs);
    if (plan === null || plan.limit <= 0) continue;
    const due = plan.limit * curve(rules.pacing, plan.elapsed);
    chance = Math.min(chance, 0.5 + (due - plan.used) / (width * plan.limit));
  }
  return Math.max(leastChance, chance);
}

/** Share of the limit that should be used up after a share of the time. */
function curve(pacing: CompiledRules['pacing'], elapsed: number): number {
  const at = Math.min(1, elapsed / finish);
  return pacing === 'front_loaded' ? at * (2 - at) : at;
}

type Plan = { limit: number; used: number; elapsed: number };

/** What of a cap is to be spread over what time; null where there is nothing to spread. */
function planOf(cap: CompiledTotalCap, rules: CompiledRules, totals: Totals, nowMs: number): Plan | null {
  const use = totals.get(cap.key);
  const { per } = cap.cap;
  if (per === 'hour') return null;
  if (per !== 'lifetime') {
    const period = periodOf(per, cap.zone, nowMs);
    return { limit: cap.limit, used: usedOf(cap, use), elapsed: elapsedOf(period, rules, nowMs) };
  }
  // What is left of a lifetime is shared out equally over the days that are left; each day has its own curve.
  if (rules.endMs === Number.POSITIVE_INFINITY) return null;
  const day = periodOf('day', cap.zone, nowMs);
  const today = use?.[cap.cap.metric].day ?? 0;
  const left = cap.limit - (usedOf(cap, use) - today);
  const startMs = Math.max(day.startMs, rules.startMs);
  const share = (Math.min(day.endMs, rules.endMs) - startMs) / (rules.endMs - startMs);
  return { limit: left * share, used: today, elapsed: elapsedOf(day, rules, nowMs) };
}

/** Share of a period's time gone, of that in which the campaign runs. */
function elapsedOf(
  period: { startMs: number; endMs: number },
  { startMs, endMs, hours }: CompiledRules,
  nowMs: number,
): number {
  const from = Math.max(period.startMs, startMs);
  const to = Math.min(period.endMs, endMs);
  const minutes =
    hours === null || hours.zone === null || to - from > 26 * 3_600_000 ? null : { hours, zone: hours.zone };
  const [gone, all] =
    minutes === null ? [nowMs - from, to - from] : [openMinutes(minutes, from, nowMs), openMinutes(minutes, from, to)];
  return all <= 0 ? 1 : Math.min(1, Math.max(0, gone / all));
}

/**
 * Minutes of a day's part in which the hours of a campaign are open. Clock changes within it shift it by an hour, which
 * catches up.
 */
function openMinutes({ hours, zone }: { hours: Hours; zone: string }, fromMs: number, toMs: number): number {
  const start = minuteOfWeek(zone, fromMs);
  const end = start + (toMs - fromMs) / 60_000;
  let open = 0;
  for (const window of hours.windows) {
    // The part of a day may pass the end of the week.
    for (const shift of [0, 10_080])
      open += Math.max(0, Math.min(end, window.end + shift) - Math.max(start, window.start + shift));
  }
  return open;
}
