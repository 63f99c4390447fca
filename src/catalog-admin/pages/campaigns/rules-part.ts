import { isDeepStrictEqual } from 'node:util';
import { type Fields, type FormValue, fieldsOf } from '../../../shell/context.ts';
import { isNested, type Nested, readJson, valueAt, withoutValue, withValue } from '../../../shell/forms.ts';

/** Mapping between a value in the campaign rules and the form fields that show it. */
export type RulesPart = {
  /** Path of the value in the rules, such as `schedule.start_at`. */
  path: string;
  /**
   * Converts the value to form values. The value is undefined if the rules do not contain it.
   * @returns null if the fields cannot represent the value
   */
  toForm: (value: unknown) => Record<string, FormValue> | null;
  /**
   * Reads the value from the form.
   * @returns undefined to leave the value out of the rules
   */
  read: (fields: Fields) => unknown;
};

/**
 * Creates the mapping for a value that is shown in a single field. The field has the same name as the path.
 * @param show returns the text to show, or null if the field cannot represent the value
 * @param read parses the submitted text, or returns undefined to leave the value out of the rules
 */
export function fieldPart(
  path: string,
  show: (value: unknown) => FormValue | null,
  read: (text: string) => unknown,
): RulesPart {
  const name = `rules.${path}`;
  return {
    path,
    toForm: (value) => {
      const formValue = show(value);
      return formValue === null ? null : { [name]: formValue };
    },
    read: (fields) => read(fields.text(name)),
  };
}

/** Name of the hidden field that contains the rules as they were when the form was rendered. */
export const storedField = '_stored';

export function partsToForm(parts: readonly RulesPart[], rules: Nested): Record<string, FormValue> {
  const partValues = parts.map(({ path, toForm }) => toForm(valueAt(rules, path)) ?? toForm(undefined) ?? {});
  return Object.assign({ [storedField]: JSON.stringify(rules) }, ...partValues) as Record<string, FormValue>;
}

/**
 * Reads the rules from a form. Unedited values are returned exactly as stored, even if they have no form field or could
 * be written differently.
 */
export function readParts(parts: readonly RulesPart[], fields: Fields): Nested {
  const stored = parseStored(fields.text(storedField));
  let rules = stored;
  for (const { path, toForm, read } of parts) {
    const formValues = toForm(valueAt(stored, path)) ?? toForm(undefined) ?? {};
    const typed = read(fields);
    if (isDeepStrictEqual(typed, read(fieldsOf(formValues)))) continue;
    rules = typed === undefined ? withoutValue(rules, path) : withValue(rules, path, typed);
  }
  return rules;
}

/**
 * Parses the hidden field that contains the rules as they were when the form was rendered. Returns {} for a new row and
 * for anything other than an object.
 */
export function parseStored(text: unknown): Nested {
  const stored = typeof text === 'string' ? readJson(text) : {};
  return isNested(stored) ? stored : {};
}
