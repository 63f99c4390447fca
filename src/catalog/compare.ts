import type { Comparison } from './conditions.ts';

/** Whether a value satisfies a comparison. A missing value (undefined) is in no list and in no range. */
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

/** Parses a plain decimal number such as `-12.50`. Any other text is NaN, which compares as false. */
const numberOf = (text: string | undefined): number =>
  text !== undefined && /^\s*[+-]?(\d+\.?\d*|\.\d+)\s*$/.test(text) ? Number(text) : Number.NaN;
