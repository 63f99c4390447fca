import { isDeepStrictEqual } from 'node:util';
import { type Fields, fieldsOf } from '../../../shell/context.ts';
import {
  type FormValue,
  isNested,
  type Nested,
  readJson,
  valueAt,
  withoutValue,
  withValue,
} from '../../../shell/forms.ts';

/** A value in the rules, and the form fields that show it. */
export type RulesPart = {
  /** Path in the rules, such as `schedule.start_at`. */
  path: string;
  /**
   * Converts the value, or undefined if the rules lack it, to form values.
   * @returns null if the fields cannot show it
   */
  toForm: (value: unknown) => Record<string, FormValue> | null;
  /**
   * Reads the value from the form.
   * @returns undefined if the rules should lack it
   */
  read: (fields: Fields) => unknown;
};

/** Name of the hidden field with the rules that a form was rendered from. */
export const storedField = '_stored';

export function partsToForm(parts: readonly RulesPart[], rules: Nested): Record<string, FormValue> {
  const partValues = parts.map(({ path, toForm }) => toForm(valueAt(rules, path)) ?? toForm(undefined) ?? {});
  return Object.assign({ [storedField]: JSON.stringify(rules) }, ...partValues) as Record<string, FormValue>;
}

/**
 * Reads the rules from a form. Unedited values are returned exactly as stored, including equivalent notations and
 * values without a field.
 */
export function readParts(parts: readonly RulesPart[], fields: Fields): Nested {
  const stored = parseStored(fields.text(storedField));
  let rules = stored;
  for (const { path, toForm, read } of parts) {
    const before = valueAt(stored, path);
    const formValues = toForm(before);
    if (formValues === null && isDeepStrictEqual(read(fields), read(submitted(toForm(undefined) ?? {})))) continue;
    const typed = read(fields);
    if (formValues !== null && isDeepStrictEqual(typed, read(submitted(formValues)))) continue;
    rules = typed === undefined ? withoutValue(rules, path) : withValue(rules, path, typed);
  }
  return rules;
}

/**
 * Parses the hidden field with the rules that a form was rendered from. Returns {} for a new row and for anything but
 * an object.
 */
export function parseStored(text: unknown): Nested {
  const stored = typeof text === 'string' ? readJson(text) : {};
  return isNested(stored) ? stored : {};
}

/** Form values as a browser submits them. */
function submitted(values: Readonly<Record<string, FormValue>>): Fields {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) for (const item of value as readonly string[]) params.append(name, item);
    else if (value === true) params.append(name, 'on');
    else if (value !== false && value !== null && value !== undefined) params.append(name, String(value));
  }
  return fieldsOf(params);
}
