import { type Problem, problem } from '../problem.ts';

/** Minimum share of the other values that must have something in common for the first value to stand out. */
const minShare = 0.9;

/** Minimum number of values that must share a case or length for it to be significant. */
const minValues = 4;

/**
 * Property that distinguishes headers from values. `first` is the result of `has` that is expected for a header. `few`
 * means that the property is significant even if there are only a few values.
 */
type Kind = { has: (value: string) => boolean; few: boolean; first: boolean; text: Problem };

/**
 * Properties that distinguish headers from codes and IDs. If `first` is true, headers have the property and values do
 * not. If it is false, the reverse is true.
 */
const kinds: readonly Kind[] = [
  { has: (value) => /\p{Nd}/u.test(value), few: true, first: false, text: problem('kindDigits') },
  {
    has: (value) => /\S[\s_]\S/.test(value),
    few: true,
    first: true,
    text: problem('kindBlanks'),
  },
  { has: (value) => value.includes('@'), few: true, first: false, text: problem('kindAt') },
  { has: (value) => !/\p{Ll}/u.test(value), few: false, first: false, text: problem('kindSmall') },
  { has: (value) => !/\p{L}/u.test(value), few: true, first: false, text: problem('kindLetters') },
];

/**
 * Describes how a column's first value differs from the others, if it differs in the way that headers do.
 * @returns null if there is no such difference
 */
export function describeKind(first: string, others: readonly string[]): Problem | null {
  if (others.length === 0 || first === '') return null;
  const hasShare = (has: (value: string) => boolean): boolean => others.filter(has).length >= minShare * others.length;
  for (const { has, few, first: expected, text } of kinds) {
    if (!few && others.length < minValues) continue;
    if (has(first) === expected && hasShare((value) => has(value) !== expected)) return text;
  }
  const [length = 0] = others.map((value) => value.length);
  const isUniform = others.length >= minValues && hasShare((value) => value.length === length);
  return isUniform && first.length !== length && !/\p{Nd}/u.test(first) ? problem('kindLength') : null;
}
