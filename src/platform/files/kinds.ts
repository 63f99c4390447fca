import { type Problem, problem } from '../problem.ts';

/** Minimum share of the other values that must agree for the first value to stand out. */
const minShare = 0.9;

/** Minimum number of values for which a common case or length is significant. */
const minValues = 4;

/**
 * Property that distinguishes headers from values. `first` is the expected result for a header. `few` means that the
 * property is significant even for a small number of values.
 */
type Kind = { has: (value: string) => boolean; few: boolean; first: boolean; text: Problem };

/**
 * Properties that distinguish headers from codes and ids. `first` is true if headers have the property and values do
 * not.
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
 * Describes how the first value in a column differs from the others in the way that a header does.
 * @returns null if it does not differ
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
