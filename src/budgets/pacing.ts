import type { Pacing } from '../catalog/rules.ts';
import type { Model } from '../learning/model.ts';
import { hourMs } from '../platform/lib/time.ts';
import { periodOf } from '../platform/lib/time-zone.ts';
import { usedOf } from './cap-rules.ts';
import type { CompiledTotalCap, Totals } from './caps.ts';
import { type PlanRules, planTimeOf } from './plans/plan-time.ts';

/** Period in which a campaign runs, in epoch milliseconds. */
export type RunningTime = PlanRules & {
  /** Start of the schedule, or else the first activation. Minus infinity if neither is known. */
  planStartMs: number;
  endMs: number;
};

/** Campaign rules that determine its pacing. */
export type PacedRules = RunningTime & { pacing: Pacing; totalCaps: readonly CompiledTotalCap[] };

/** Current data that a plan is compared with. */
export type PlanInput = { totals: Totals; model: Model; nowMs: number };

/**
 * Minimum share of decisions in which a campaign takes part when it is ahead of its plan, so that its rates stay up to
 * date.
 */
const minProbability = 0.005;

/** Deviation from the plan over which the probability falls from 1 to its minimum, as a share of the limit. */
const controlWidth = 0.01;

/** Share of the time at which the plan reaches the limit, so that late events still fit. */
export const planEnd = 0.99;

/**
 * Returns the probability that a campaign takes part in a decision. It is 1 when the campaign is behind the plan and
 * falls to a minimum when it is ahead. With several paced caps (daily, monthly, lifetime), the lowest probability
 * applies (docs/guides/how-a-decision-is-made.md#pacing). The deviation from the plan is a difference, not a ratio,
 * because both the usage and the plan are 0 at the start of a day.
 */
export function pacingProbability(rules: PacedRules, input: PlanInput): number {
  let probability = 1;
  if (rules.pacing === 'asap') return probability;
  for (const cap of rules.totalCaps) {
    const plan = planOf(cap, rules, input);
    if (plan === null || plan.limit <= 0) continue;
    const planned = plan.limit * plannedShare(rules.pacing, plan.elapsed);
    probability = Math.min(probability, 0.5 + (planned - plan.used) / (controlWidth * plan.limit));
  }
  return Math.max(minProbability, probability);
}

/** Cap usage that the pacing plan expects by now in the current period. Null if there is no plan. */
export function plannedUse(cap: CompiledTotalCap, rules: PacedRules, input: PlanInput): number | null {
  const plan = rules.pacing === 'asap' ? null : planOf(cap, rules, input);
  if (plan === null) return null;
  const before = usedOf(cap, input.totals.get(cap.key)) - plan.used;
  return before + plan.limit * plannedShare(rules.pacing, plan.elapsed);
}

/**
 * Plan of a cap for its current period: a day or a month. A lifetime cap is planned day by day, so its plan is for the
 * current day. Amounts are event counts or, for budgets, in millionths.
 */
export type PlanCurve = {
  startMs: number;
  endMs: number;
  /** IANA time zone of the period. */
  zone: string;
  /** Planned use since the start of the period, at each full hour or, for months, at the start of each day. */
  points: readonly { atMs: number; planned: number }[];
  /** Usage in the period so far, including reservations, and the usage that the plan expects by now. */
  used: number;
  planned: number;
  /** Share of the decisions in which the campaign takes part because of this plan. */
  probability: number;
  /** Expected use at the end of the period at the current rate; null at the start of the period. */
  projected: number | null;
};

/** Minimum elapsed share of a period for a projection. */
const minElapsed = 0.05;

/** Returns the plan of a cap for its current period, or null if the cap is not paced. */
export function planCurve(cap: CompiledTotalCap, rules: PacedRules, input: PlanInput): PlanCurve | null {
  const plan = rules.pacing === 'asap' ? null : planOf(cap, rules, input);
  if (plan === null) return null;
  const { per } = cap.cap;
  const isMonth = per === 'month';
  const { startMs, endMs } = periodOf(isMonth ? 'month' : 'day', cap.zone, input.nowMs);
  const points: { atMs: number; planned: number }[] = [];
  for (let atMs = startMs; atMs <= endMs; atMs = isMonth ? nextDayMs(cap.zone, atMs) : atMs + hourMs) {
    const at = planOf(cap, rules, { ...input, nowMs: Math.min(atMs, endMs - 1) });
    points.push({ atMs, planned: at === null ? 0 : at.limit * plannedShare(rules.pacing, at.elapsed) });
  }
  return {
    startMs,
    endMs,
    zone: cap.zone,
    points,
    used: plan.used,
    planned: plan.limit * plannedShare(rules.pacing, plan.elapsed),
    probability: pacingProbability({ ...rules, totalCaps: [cap] }, input),
    projected: plan.elapsed < minElapsed ? null : plan.used / plan.elapsed,
  };
}

/**
 * Returns the expected use of a cap at the end of its current calendar period, at the current rate. Null for hourly and
 * lifetime caps, and at the start of a period.
 */
export function projectedUse(cap: CompiledTotalCap, rules: RunningTime, input: PlanInput): number | null {
  const { per } = cap.cap;
  if (per === 'hour' || per === 'lifetime') return null;
  const elapsed = elapsedOf(periodOf(per, cap.zone, input.nowMs), rules, cap.zone, input);
  return elapsed < minElapsed ? null : usedOf(cap, input.totals.get(cap.key)) / elapsed;
}

const nextDayMs = (zone: string, atMs: number): number => periodOf('day', zone, atMs).endMs;

/** Share of the limit that the plan expects to be used once a given share of the time has elapsed. */
function plannedShare(pacing: Pacing, elapsed: number): number {
  const at = Math.min(1, elapsed / planEnd);
  return pacing === 'front_loaded' ? at * (2 - at) : at;
}

/** Plan for a cap in the current period. `elapsed` is the elapsed share of the period. */
type Plan = { limit: number; used: number; elapsed: number };

/** Returns the plan for the current period of a cap, or null if the cap is not paced. */
function planOf(cap: CompiledTotalCap, rules: PacedRules, input: PlanInput): Plan | null {
  const { totals, model, nowMs } = input;
  const use = totals.get(cap.key);
  const { per } = cap.cap;
  if (per === 'hour') return null;
  if (per !== 'lifetime') {
    const period = periodOf(per, cap.zone, nowMs);
    return { limit: cap.limit, used: usedOf(cap, use), elapsed: elapsedOf(period, rules, cap.zone, input) };
  }
  // The remainder of a lifetime cap is divided among the remaining days in proportion to their expected traffic. Each
  // day has its own plan.
  const day = periodOf('day', cap.zone, nowMs);
  const endMs = endOfPlan(rules, cap.zone);
  if (endMs <= nowMs) return null;
  const today = use?.[cap.cap.metric]?.day ?? 0;
  const remainingLimit = cap.limit - (usedOf(cap, use) - today);
  const startMs = Math.max(day.startMs, rules.planStartMs);
  const planTime = planTimeOf(rules, cap.zone, model, nowMs);
  const rest = planTime(startMs, endMs);
  const share = rest <= 0 ? 1 : planTime(startMs, Math.min(day.endMs, endMs)) / rest;
  const ofDay = { startMs: day.startMs, endMs: Math.min(day.endMs, endMs) };
  return { limit: remainingLimit * share, used: today, elapsed: elapsedOf(ofDay, rules, cap.zone, input) };
}

/**
 * Returns the end of the plan. If the schedule has no end, the plan for a lifetime cap ends after its first day. Minus
 * infinity means that there is no plan.
 */
function endOfPlan({ planStartMs, endMs }: PacedRules, zone: string): number {
  if (endMs !== Number.POSITIVE_INFINITY) return endMs;
  return planStartMs === Number.NEGATIVE_INFINITY ? planStartMs : periodOf('day', zone, planStartMs).endMs;
}

/** Elapsed share of a period, weighted by the traffic that is expected while the campaign runs. */
export function elapsedOf(
  period: { startMs: number; endMs: number },
  rules: RunningTime,
  zone: string,
  { model, nowMs }: { model: Model; nowMs: number },
): number {
  const from = Math.max(period.startMs, rules.planStartMs);
  const to = Math.min(period.endMs, rules.endMs);
  const planTime = planTimeOf(rules, zone, model, nowMs);
  const total = planTime(from, to);
  return total <= 0 ? 1 : Math.min(1, Math.max(0, planTime(from, nowMs) / total));
}
