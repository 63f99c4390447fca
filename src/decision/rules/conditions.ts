import { compare } from '../../catalog/compare.ts';
import type { Condition } from '../../catalog/conditions.ts';

/** Text of a list or an object, which no condition sees (docs/interface.md#request-body). */
const structured = /^(\[.*\]|\{.*\})$/s;

/**
 * Whether the custom attributes of a request satisfy a condition. A missing attribute differs from every value, and is
 * in no list and no range; a list or an object counts as missing.
 */
export function matchesCondition(condition: Condition, custom: ReadonlyMap<string, string>): boolean {
  if ('all' in condition) return condition.all.every((part) => matchesCondition(part, custom));
  if ('any' in condition) return condition.any.some((part) => matchesCondition(part, custom));
  const given = custom.get(condition.key);
  return compare(condition, given === undefined || structured.test(given) ? undefined : given);
}
