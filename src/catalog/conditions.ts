import type { Warning } from '../management/resource.ts';
import type { ErrorDetail } from '../platform/errors.ts';
import { dayMs, hourMs } from '../platform/lib/time.ts';
import { timeOf } from '../platform/lib/time-zone.ts';
import { type Problem, problem } from '../platform/problem.ts';

/**
 * Comparison of a custom attribute of the request with one or more values. Attributes are strings; numbers and booleans
 * are compared as strings.
 */
export type Comparison =
  | { key: string; op: 'equals' | 'not_equals' | 'prefix'; value: string | number | boolean }
  | { key: string; op: 'in' | 'not_in'; value: (string | number | boolean)[] }
  | { key: string; op: 'lt' | 'lte' | 'gt' | 'gte'; value: number }
  | { key: string; op: 'exists' | 'not_exists' };

export type Condition = { all: Condition[] } | { any: Condition[] } | Comparison;

/** Returns all comparisons in a condition tree. */
export function comparisonsIn(condition: Condition): Comparison[] {
  if ('all' in condition) return condition.all.flatMap(comparisonsIn);
  return 'any' in condition ? condition.any.flatMap(comparisonsIn) : [condition];
}

/** Returns the parts of a condition that must all be met. */
export const requiredParts = (condition: Condition | undefined): readonly Condition[] => {
  if (condition === undefined) return [];
  return 'all' in condition ? condition.all : [condition];
};

const maxDepth = 5;
const maxComparisons = 100;
const maxValues = 500;
const maxValueLength = 512;
const keyPattern = /^[A-Za-z0-9_.-]{1,64}$/;
const ops = ['equals', 'not_equals', 'in', 'not_in', 'lt', 'lte', 'gt', 'gte', 'prefix', 'exists', 'not_exists'];

/**
 * Validates a condition tree.
 * @returns the problems found, or an empty list if the condition is valid
 */
export function checkCondition(condition: unknown, path: string): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  let comparisons = 0;

  function walk(node: unknown, at: string, depth: number): void {
    if (details.length >= 20) return;
    if (depth > maxDepth) details.push({ path: at, message: problem('conditionsDeep', { max: maxDepth }) });
    else if (!isObject(node)) details.push({ path: at, message: problem('aCondition') });
    else if ('all' in node || 'any' in node) walkGroup(node, at, depth);
    else {
      comparisons += 1;
      if (comparisons === maxComparisons + 1)
        details.push({ path: at, message: problem('comparisons', { max: maxComparisons }) });
      else if (comparisons <= maxComparisons) details.push(...checkComparison(node, at));
    }
  }

  function walkGroup(node: Record<string, unknown>, at: string, depth: number): void {
    const name = 'all' in node ? 'all' : 'any';
    const parts = node[name];
    if (Object.keys(node).length > 1) details.push({ path: at, message: problem('besideGroup', { name }) });
    else if (!Array.isArray(parts) || parts.length === 0)
      details.push({ path: `${at}/${name}`, message: problem('noCondition') });
    else if (parts.length > maxComparisons)
      details.push({ path: `${at}/${name}`, message: problem('comparisons', { max: maxComparisons }) });
    else for (const [index, part] of parts.entries()) walk(part, `${at}/${name}/${index}`, depth + 1);
  }

  walk(condition, path, 1);
  return details;
}

function checkComparison(node: Record<string, unknown>, path: string): ErrorDetail[] {
  const { key, op, value, ...others } = node;
  const details: ErrorDetail[] = Object.keys(others).map((name) => ({
    path: `${path}/${name}`,
    message: problem('unknownHere'),
  }));
  if (typeof key !== 'string' || !keyPattern.test(key))
    details.push({
      path: `${path}/key`,
      message: problem('attributeName'),
    });
  if (typeof op !== 'string' || !ops.includes(op))
    details.push({ path: `${path}/op`, message: problem('oneOf', { choices: ops.join(', ') }) });
  else {
    const message = valueMessage(op, value);
    if (message !== null) details.push({ path: `${path}/value`, message });
  }
  return details;
}

function valueMessage(op: string, value: unknown): Problem | null {
  if (op === 'exists' || op === 'not_exists') return value === undefined ? null : problem('noValueWith', { op });
  if ([value].flat().some(isOutOfRange)) return problem('numberRange');
  if (op === 'in' || op === 'not_in') {
    if (!Array.isArray(value) || value.length === 0) return problem('noValue');
    if (value.length > maxValues) return problem('maxValues', { max: maxValues });
    return value.every(isValue) ? null : problem('valueList', { max: maxValueLength });
  }
  if (['lt', 'lte', 'gt', 'gte'].includes(op)) return typeof value === 'number' ? null : problem('isNumber');
  if (op === 'prefix' && value === '') return problem('emptyPrefix');
  return isValue(value) ? null : problem('valueType', { max: maxValueLength });
}

const isValue = (value: unknown): boolean =>
  (typeof value === 'string' && value.length <= maxValueLength) || ['number', 'boolean'].includes(typeof value);

/**
 * Whether a number cannot be stored exactly, or would be stored with hundreds of digits because PostgreSQL expands
 * exponents.
 */
const isOutOfRange = (value: unknown): boolean =>
  typeof value === 'number' && value !== 0 && !(Math.abs(value) >= 1e-9 && Math.abs(value) <= Number.MAX_SAFE_INTEGER);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether an attribute value satisfies a comparison. A missing value (undefined) is in no list and in no range. */
export function compare(comparison: Comparison, actual: string | undefined): boolean {
  switch (comparison.op) {
    case 'exists':
      return actual !== undefined;
    case 'not_exists':
      return actual === undefined;
    case 'equals':
      return actual === String(comparison.value);
    case 'not_equals':
      return actual !== String(comparison.value);
    case 'in':
      return actual !== undefined && comparison.value.some((value) => String(value) === actual);
    case 'not_in':
      return actual === undefined || !comparison.value.some((value) => String(value) === actual);
    case 'prefix':
      return actual?.startsWith(String(comparison.value)) === true;
    default:
      return compareNumbers(comparison.op, numberOf(actual), comparison.value);
  }
}

function compareNumbers(op: 'lt' | 'lte' | 'gt' | 'gte', value: number, limit: number): boolean {
  if (op === 'lt') return value < limit;
  if (op === 'lte') return value <= limit;
  return op === 'gt' ? value > limit : value >= limit;
}

/** Parses a plain decimal number such as `-12.50`. Any other text returns NaN, which makes every comparison false. */
const numberOf = (text: string | undefined): number =>
  text !== undefined && /^\s*[+-]?(\d+\.?\d*|\.\d+)\s*$/.test(text) ? Number(text) : Number.NaN;

type CapPeriod = 'hour' | 'day' | 'month' | 'lifetime';

/** Parts of campaign rules that can contradict each other. */
type ComparedRules = {
  conditions?: Condition;
  total_caps?: readonly { metric: string; per: CapPeriod; limit: number }[];
  schedule?: { start_at?: string; end_at?: string };
};

/**
 * Returns warnings about campaign rules that contradict each other: conditions that no value can meet, and caps
 * that make a larger cap unreachable. The rules must be valid.
 */
export const contradictionsIn = (rules: ComparedRules, nowMs: number): Warning[] => [
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

/**
 * Returns warnings about lifetime caps that cannot be reached before the end of the schedule, because of caps for
 * shorter periods.
 */
function unreachableCaps({ total_caps: caps = [], schedule = {} }: ComparedRules, nowMs: number): Warning[] {
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
