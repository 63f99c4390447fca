import type { Warning } from '../management/resource.ts';
import { dayMs, hourMs } from '../platform/lib/time.ts';
import { timeOf } from '../platform/lib/time-zone.ts';
import { problem } from '../platform/problem.ts';
import { type Comparison, type Condition, compare, requiredParts } from './conditions.ts';
import type { CampaignRules, CapPeriod } from './rules.ts';

/**
 * Returns warnings about campaign rules that contradict each other: conditions that no value can meet, and caps
 * that make a larger cap unreachable. The rules must be valid.
 */
export const contradictionsIn = (rules: CampaignRules, nowMs: number): Warning[] => [
  ...impossibleConditions(rules.conditions),
  ...unreachableCaps(rules, nowMs),
];

/** Returns a warning for each attribute with conditions that no value can meet together. */
function impossibleConditions(condition: Condition | undefined): Warning[] {
  const groups = condition !== undefined && 'any' in condition ? condition.any : [condition];
  const keys = groups.flatMap((group) => {
    const comparisons = requiredParts(group).filter((part): part is Comparison => 'key' in part);
    return comparisons.filter((first, at) =>
      comparisons.slice(at + 1).some((second) => second.key === first.key && areContrary(first, second)),
    );
  });
  return [...new Set(keys.map(({ key }) => key))].map((key) => ({
    path: '/rules/conditions',
    message: problem('neverBoth', { key }),
  }));
}

/** Whether no value can meet both comparisons of an attribute. */
const areContrary = (a: Comparison, b: Comparison): boolean => excludes(a, b) || excludes(b, a);

function excludes(a: Comparison, b: Comparison): boolean {
  switch (a.op) {
    case 'equals':
      return !compare(b, String(a.value));
    case 'in':
      return a.value.every((value) => !compare(b, String(value)));
    case 'not_exists':
      return !compare(b, undefined);
    case 'prefix':
      return b.op === 'prefix' && !isPrefix(String(a.value), String(b.value));
    case 'gt':
      return (b.op === 'lt' || b.op === 'lte') && b.value <= a.value;
    case 'gte':
      return (b.op === 'lt' && b.value <= a.value) || (b.op === 'lte' && b.value < a.value);
    default:
      return false;
  }
}

const isPrefix = (a: string, b: string): boolean => a.startsWith(b) || b.startsWith(a);

/** Minimum length of each period, in milliseconds. */
const periodMs: Record<Exclude<CapPeriod, 'lifetime'>, number> = { hour: hourMs, day: 23 * hourMs, month: 28 * dayMs };

/** Returns warnings about lifetime caps that smaller caps make unreachable before the end of the schedule. */
function unreachableCaps({ total_caps: caps = [], schedule = {} }: CampaignRules, nowMs: number): Warning[] {
  const endMs = timeOf(schedule.end_at);
  if (endMs === null) return [];
  const lengthMs = endMs - (timeOf(schedule.start_at) ?? nowMs);
  return caps.flatMap((cap, index) => {
    if (cap.per !== 'lifetime') return [];
    const limits = caps.flatMap(({ metric, per, limit }) =>
      metric === cap.metric && per !== 'lifetime' ? [limit * (Math.ceil(lengthMs / periodMs[per]) + 1)] : [],
    );
    const most = Math.min(...limits);
    if (!(lengthMs > 0 && most < cap.limit)) return [];
    const values = { limit: String(cap.limit), most: String(most) };
    return [{ path: `/rules/total_caps/${index}/limit`, message: problem('capUnreachable', values) }];
  });
}
