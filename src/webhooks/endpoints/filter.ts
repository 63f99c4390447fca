import { LRUCache } from 'lru-cache';
import { type Comparison, type Condition, checkCondition, compare } from '../../catalog/conditions.ts';
import { findUnreadable } from '../../management/schema-errors.ts';
import { AppError } from '../../platform/errors.ts';
import { problem } from '../../platform/problem.ts';

/** Function that returns whether an endpoint receives an event, given the event's payload (parsed JSON). */
export type Filter = (payload: unknown) => boolean;

/**
 * Maximum length of a filter as JSON, in characters. The limit ensures that evaluating a filter takes only
 * microseconds.
 */
const maxFilterLength = 2000;

const compiled = new LRUCache<string, Filter>({ max: 1000 });

/**
 * Validates a filter.
 * @throws AppError `invalid_endpoint` with all problems of the condition
 */
export function requireUsableFilter(filter: unknown): void {
  const text = JSON.stringify(filter);
  const details =
    text.length > maxFilterLength
      ? [{ path: '/filter', message: problem('filterLong', { max: maxFilterLength }) }]
      : [...checkCondition(filter, '/filter'), ...findUnreadable(filter, '/filter')];
  if (details.length > 0) throw new AppError('invalid_endpoint', { details });
}

/**
 * Compiles an endpoint filter. A filter is a condition in the rule language whose keys are paths into the payload, such
 * as `body.selected` (docs/reference/webhooks.md#filters). A path that contains a list matches the field in every list
 * item.
 * @param text stored condition as JSON
 */
export function compileFilter(text: string): Filter {
  const cached = compiled.get(text);
  if (cached !== undefined) return cached;
  const filter = compile(JSON.parse(text) as Condition);
  compiled.set(text, filter);
  return filter;
}

function compile(condition: Condition): Filter {
  if ('all' in condition) {
    const parts = condition.all.map(compile);
    return (payload) => parts.every((part) => part(payload));
  }
  if ('any' in condition) {
    const parts = condition.any.map(compile);
    return (payload) => parts.some((part) => part(payload));
  }
  return compileComparison(condition);
}

/**
 * Compiles a comparison. It matches if at least one of the values at its path matches. A negated comparison matches
 * only if all values match.
 */
function compileComparison(comparison: Comparison): Filter {
  const path = pathOf(comparison.key);
  const test = testOf(comparison);
  const isNegated = comparison.op.startsWith('not_');
  return (payload) => {
    const values: string[] = [];
    collect(payload, path, 0, values);
    if (values.length === 0) return test(undefined);
    return isNegated ? values.every(test) : values.some(test);
  };
}

/** Converts lists of values to sets for fast lookups, because a payload may have many values to check. */
function testOf(comparison: Comparison): (value: string | undefined) => boolean {
  if (comparison.op !== 'in' && comparison.op !== 'not_in') return (value) => compare(comparison, value);
  const listed = new Set(comparison.value.map(String));
  const isIn = comparison.op === 'in';
  return (value) => (value !== undefined && listed.has(value)) === isIn;
}

/** Parsed path. It has one entry per dot-separated part, with the name of the part and the key from that part on. */
type Path = readonly { name: string; rest: string }[];

function pathOf(key: string): Path {
  const names = key.split('.');
  return names.map((name, index) => ({ name, rest: names.slice(index).join('.') }));
}

/**
 * Collects the values at a path as text. Numbers and booleans are converted to text. Null, objects and empty lists are
 * treated as missing.
 */
function collect(node: unknown, path: Path, at: number, values: string[]): void {
  if (Array.isArray(node)) {
    for (const entry of node) collect(entry, path, at, values);
    return;
  }
  const part = path[at];
  if (part === undefined) {
    if (typeof node === 'string' || typeof node === 'number' || typeof node === 'boolean') values.push(String(node));
    return;
  }
  if (typeof node !== 'object' || node === null) return;
  const fields = node as Record<string, unknown>;
  if (Object.hasOwn(fields, part.name)) collect(fields[part.name], path, at + 1, values);
  // Look up the rest of the key as one name, because names of custom attributes may contain dots.
  else if (Object.hasOwn(fields, part.rest)) collect(fields[part.rest], path, path.length, values);
}
