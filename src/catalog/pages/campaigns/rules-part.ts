import { isDeepStrictEqual } from 'node:util';
import { type Fields, fieldsOf } from '../../../shell/context.ts';
import type { FormValue } from '../../../shell/forms.ts';
import { isNested, type Nested, readJson, valueAt, withoutValue, withValue } from '../../../shell/nested.ts';

/** A value inside of rules, and the fields of a form that show it. */
export type RulesPart = {
  /** Where it stands in the rules, such as `schedule.start_at`. */
  path: string;
  /** undefined: the rules do not have it. @returns null: the fields cannot show it */
  toForm: (value: unknown) => Record<string, FormValue> | null;
  /** @returns undefined: the fields say that the rules do not have it */
  read: (fields: Fields) => unknown;
};

/** Name of the hidden field with the rules that a form was made from. */
export const storedField = '_stored';

export function partsToForm(parts: readonly RulesPart[], rules: Nested): Record<string, FormValue> {
  const shown = parts.map(({ path, toForm }) => toForm(valueAt(rules, path)) ?? toForm(undefined) ?? {});
  return Object.assign({ [storedField]: JSON.stringify(rules) }, ...shown) as Record<string, FormValue>;
}

/**
 * The rules that a form says. What was not edited is returned exactly as it was stored: other spellings of the same,
 * and what the form has no fields for.
 */
export function readParts(parts: readonly RulesPart[], fields: Fields): Nested {
  const stored = parseStored(fields.text(storedField));
  let rules = stored;
  for (const { path, toForm, read } of parts) {
    const before = valueAt(stored, path);
    const shown = toForm(before);
    if (shown === null && isDeepStrictEqual(read(fields), read(submitted(toForm(undefined) ?? {})))) continue;
    const typed = read(fields);
    if (shown !== null && isDeepStrictEqual(typed, read(submitted(shown)))) continue;
    rules = typed === undefined ? withoutValue(rules, path) : withValue(rules, path, typed);
  }
  return rules;
}

/** The rules that a form was made from, of its hidden field; none for a new row, and for what is no object. */
export function parseStored(text: unknown): Nested {
  const stored = typeof text === 'string' ? readJson(text) : {};
  return isNested(stored) ? stored : {};
}

/** Form values as a browser submits them. */
function submitted(values: Readonly<Record<string, FormValue>>): Fields {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) for (const one of value as readonly string[]) params.append(name, one);
    else if (value === true) params.append(name, 'on');
    else if (value !== false && value !== null && value !== undefined) params.append(name, String(value));
  }
  return fieldsOf(params);
}
