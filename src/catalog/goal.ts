import { timeOf } from '../platform/lib/time-zone.ts';
import type { CampaignGoal, Goal } from './rules.ts';

/** A goal as it is stored, perhaps by hand; null: there is none, or it is none. */
export function toGoal(goal: CampaignGoal | null | undefined, since: Date | string | null | undefined): Goal | null {
  const byMs = timeOf(goal?.by) ?? Number.NaN;
  if (goal == null || since == null || !(goal.count > 0) || Number.isNaN(byMs)) return null;
  return { metric: goal.metric, count: goal.count, sinceMs: new Date(since).getTime(), byMs };
}
