/** Share of the other values that must agree for the first one to stand out. */
const minShare = 0.9;

/** Minimum number of values from which on agreement in case or length is significant. */
const minValues = 4;

/** A property of values. `few` means that it is significant even for few values. */
type Kind = { has: (value: string) => boolean; few: boolean; first: boolean; text: string };

/** Properties that codes and ids have and headings lack (`first` false), or the other way round. */
const kinds: readonly Kind[] = [
  { has: (value) => /\p{Nd}/u.test(value), few: true, first: false, text: 'has no digits, unlike the others' },
  {
    has: (value) => /\S[\s_]\S/.test(value),
    few: true,
    first: true,
    text: 'has blanks or underscores, unlike the others',
  },
  { has: (value) => value.includes('@'), few: true, first: false, text: 'has no @, unlike the others' },
  { has: (value) => !/\p{Ll}/u.test(value), few: false, first: false, text: 'has small letters, unlike the others' },
  { has: (value) => !/\p{L}/u.test(value), few: true, first: false, text: 'has letters, unlike the others' },
];

/**
 * Describes how the first value of a column differs from the others, as a header does.
 * @returns null if it does not differ
 */
export function describeKind(first: string, others: readonly string[]): string | null {
  if (others.length === 0 || first === '') return null;
  const hasShare = (has: (value: string) => boolean): boolean => others.filter(has).length >= minShare * others.length;
  for (const { has, few, first: expected, text } of kinds) {
    if (!few && others.length < minValues) continue;
    if (has(first) === expected && hasShare((value) => has(value) !== expected)) return text;
  }
  const [length = 0] = others.map((value) => value.length);
  const isUniform = others.length >= minValues && hasShare((value) => value.length === length);
  return isUniform && first.length !== length && !/\p{Nd}/u.test(first) ? 'has another length than the others' : null;
}
