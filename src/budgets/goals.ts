import type { Goal, GoalMetric } from '../catalog/rules.ts';
import type { Model } from '../learning/model.ts';
import { totalsKey } from './caps.ts';
import { elapsedOf, type PlanInput, planEnd, type RunningTime } from './pacing.ts';
import { openMs } from './plans/plan-time.ts';

/** Campaign goal prepared for comparison. Times are in epoch milliseconds. */
export type CompiledGoal = {
  metric: GoalMetric;
  count: number;
  sinceMs: number;
  byMs: number;
  /** Key (`totalsKey`) of the campaign total that counts for the goal. */
  key: string;
  zone: string;
};

/** Campaign goal, and the rules on which its plan depends. */
type GoalRules = RunningTime & { goal: CompiledGoal | null };

type Now = { model: Model; nowMs: number };

/** Goal progress compared with the plan. */
export type Delivery = {
  /**
   * Delivered events as a percentage of the events planned up to now. It is 100 as long as the plan expects no events.
   */
  percent: number;
  expected: number;
  delivered: number;
  onTrack: boolean;
};

/** Minimum percentage of the plan at which a goal is on track. */
const onTrackFrom = 90;

export const compileGoal = (campaignId: number, goal: Goal | null, zone: string): CompiledGoal | null =>
  goal === null ? null : { ...goal, key: totalsKey(campaignId, null), zone };

/** Elapsed share of the goal period, counting only the time in which the campaign runs. */
const elapsedShare = ({ sinceMs, byMs, zone }: CompiledGoal, rules: GoalRules, now: Now): number =>
  elapsedOf({ startMs: sinceMs, endMs: byMs }, rules, zone, now);

/** Computes a goal's progress from the number of delivered events. Returns null if there is no goal. Pure function. */
export function deliveryOf(rules: GoalRules, delivered: number, now: Now): Delivery | null {
  if (rules.goal === null) return null;
  const expected = Math.floor(rules.goal.count * elapsedShare(rules.goal, rules, now));
  const percent = expected === 0 ? 100 : Math.round((100 * delivered) / expected);
  return { percent, expected, delivered, onTrack: percent >= onTrackFrom };
}

/**
 * Whether a goal is behind its plan by more than random variation explains. The threshold is three standard deviations
 * of the expected count.
 */
export const isBehind = ({ onTrack, expected, delivered }: Delivery): boolean =>
  !onTrack && expected - delivered > 3 * Math.sqrt(expected);

/**
 * Relative shortfall from the plan at which a campaign is always shown first, at the start and at the end of the goal
 * period.
 */
const alwaysBehind = { atStart: 0.05, atEnd: 0.002 };

/**
 * Returns the probability that a campaign is ranked before campaigns that compete by revenue. It is 0 while the goal is
 * on or ahead of its plan, and rises to 1 at a shortfall of 5%. The required shortfall decreases towards the end
 * (docs/guides/how-a-decision-is-made.md#goals). Pure function.
 */
export function goalProbability(rules: GoalRules, input: PlanInput): number {
  const { goal } = rules;
  const delivered = goal === null ? undefined : input.totals.get(goal.key)?.goal;
  if (goal === null || delivered === undefined || delivered >= goal.count || input.nowMs >= goal.byMs) return 0;
  const elapsed = elapsedShare(goal, rules, input);
  const planned = goal.count * Math.min(1, elapsed / planEnd);
  if (planned <= delivered) return 0;
  const { atStart, atEnd } = alwaysBehind;
  return Math.min(1, (1 - delivered / planned) / (atStart + (atEnd - atStart) * elapsed));
}

/**
 * Returns the urgency of a goal: the impressions needed to deliver the missing events, per millisecond of remaining
 * open time. A higher value means that the goal is less likely to be met. Values are comparable between campaigns of
 * one publisher. Pure function.
 * @param perImpression expected number of goal events per impression
 */
export function goalNeed(rules: GoalRules, input: PlanInput, perImpression: number): number {
  const { goal } = rules;
  if (goal === null) return 0;
  const missing = Math.max(0, goal.count - (input.totals.get(goal.key)?.goal ?? 0));
  const leftMs = openMs(rules, goal.zone, input.nowMs, Math.min(goal.byMs, rules.endMs));
  return missing / Math.max(perImpression, Number.MIN_VALUE) / Math.max(1, leftMs);
}
