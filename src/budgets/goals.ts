import type { Goal, GoalMetric } from '../catalog/rules.ts';
import type { Model } from '../learning/model.ts';
import { totalsKey } from './caps.ts';
import { elapsedOf, type PlanInput, planEnd, type RunningTime } from './pacing.ts';
import { openMs } from './plans/plan-time.ts';

/** A campaign's goal, ready to be compared; times in epoch milliseconds. */
export type CompiledGoal = {
  metric: GoalMetric;
  count: number;
  sinceMs: number;
  byMs: number;
  /** Of its total, by `totalsKey`. */
  key: string;
  zone: string;
};

/** What a goal depends on beside itself. */
type GoalRules = RunningTime & { goal: CompiledGoal | null };

type Now = { model: Model; nowMs: number };

/** Where a goal stands. */
export type Delivery = {
  /** What was delivered, of what its plan expects by now; 100 before it expects anything. */
  percent: number;
  expected: number;
  delivered: number;
  onTrack: boolean;
};

/** A goal is on track from this percentage of its plan on. */
const onTrackFrom = 90;

export const compileGoal = (campaignId: number, goal: Goal | null, zone: string): CompiledGoal | null =>
  goal === null ? null : { ...goal, key: totalsKey(campaignId, null), zone };

/** The share of a goal's time that has gone by, of the time in which the campaign runs. */
const elapsedShare = ({ sinceMs, byMs, zone }: CompiledGoal, rules: GoalRules, now: Now): number =>
  elapsedOf({ startMs: sinceMs, endMs: byMs }, rules, zone, now);

/** Where a goal stands, with what was delivered for it; null: there is no goal. Pure. */
export function deliveryOf(rules: GoalRules, delivered: number, now: Now): Delivery | null {
  if (rules.goal === null) return null;
  const expected = Math.floor(rules.goal.count * elapsedShare(rules.goal, rules, now));
  const percent = expected === 0 ? 100 : Math.round((100 * delivered) / expected);
  return { percent, expected, delivered, onTrack: percent >= onTrackFrom };
}

/** Whether a goal is behind by more than chance explains: three standard deviations of what is expected. */
export const isBehind = ({ onTrack, expected, delivered }: Delivery): boolean =>
  !onTrack && expected - delivered > 3 * Math.sqrt(expected);

/** How far behind its plan a campaign is always shown first: at the start of the goal's time, and at its end . */
const alwaysBehind = { atStart: 0.05, atEnd: 0.002 };

/**
 * The probability with which a campaign comes before those that compete by revenue: 0 as long as its goal is at its
 * plan or ahead, 1 where it is 5 % behind; towards the end, the little that is missing is enough
 * (docs/guides/how-a-decision-is-made.md#goals). Pure.
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
 * The share of its remaining time that a goal needs, by the impressions that bring what is missing: the higher, the
 * less likely it can be met. Comparable between the campaigns of one publisher. Pure.
 * @param perImpression expected count of the goal's metric for one impression
 */
export function goalNeed(rules: GoalRules, input: PlanInput, perImpression: number): number {
  const { goal } = rules;
  if (goal === null) return 0;
  const missing = Math.max(0, goal.count - (input.totals.get(goal.key)?.goal ?? 0));
  const leftMs = openMs(rules, goal.zone, input.nowMs, Math.min(goal.byMs, rules.endMs));
  return missing / Math.max(perImpression, Number.MIN_VALUE) / Math.max(1, leftMs);
}
