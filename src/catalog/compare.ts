import type { Comparison } from './conditions.ts';

/** Whether a value satisfies a comparison. A missing value (undefined) is in no list and in no range. */
export function compare(comparison: Comparison, given: string | undefined): boolean {
  switch (comparison.op) {
    case 'exists':
      return given !== undefined;
    case 'not_exists':
      return given === undefined;
    case 'equals':
      return given === String(comparison.value);
    case 'not_equals':
      return given !== String(comparison.value);
    case 'in':
      return given !== undefined && comparison.value.some((value) => String(value) === given);
    case 'not_in':
      return given === undefined || !comparison.value.some((value) => String(value) === given);
    case 'prefix':
      return given?.startsWith(String(comparison.value)) === true;
    default:
      return compareNumbers(comparison.op, numberOf(given), comparison.value);
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
