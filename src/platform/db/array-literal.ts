/** An array literal of values that need no quoting: numbers, booleans, UUIDs, dates. */
export const plainArray = (values: readonly (string | number | boolean | null)[]): string =>
  `{${values.map(String).join(',')}}`;

/**
 * One text as an element of an array literal. A column that grows as text is several times cheaper than an array the
 * driver has to escape.
 */
export function quoted(value: string | null): string {
  if (value === null) return 'null';
  return special.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`;
}

const special = /["\\]/;

/** One text as a field of a row that is an element of an array literal: quoted twice. */
export function quotedField(value: string | null): string {
  if (value === null) return '';
  return special.test(value) ? `\\"${value.replace(/["\\]/g, '\\$&\\$&')}\\"` : `\\"${value}\\"`;
}
