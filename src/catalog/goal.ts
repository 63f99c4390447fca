import { timeOf } from '../platform/lib/time-zone.ts';
import type { CampaignGoal, Goal } from './rules.ts';

/** Parses a stored goal, which may have been edited by hand. Returns null if it is missing or invalid. */
export function toGoal(goal: CampaignGoal | null | undefined, since: Date | string | null | undefined): Goal | null {
  const byMs = timeOf(goal?.by) ?? Number.NaN;
  if (goal == null || since == null || !(goal.count > 0) || Number.isNaN(byMs)) return null;
  return { metric: goal.metric, count: goal.count, sinceMs: new Date(since).getTime(), byMs };
}
