import { type Html, html, nothing } from '../platform/http/html.ts';
import { type Fields, type FormValue, type FormValues, fieldsOf } from './context.ts';

/**
 * Name of the hidden field that lists the checkboxes and row lists of a form. Browsers do not submit an unchecked
 * checkbox or an empty row list, so without the list they could not be told apart from fields that the form lacks.
 */
export const optionalField = '_optional';

/** Returns the name of the row list to which a field belongs, or the field's own name. */
const listOf = (name: string): string => name.split(/\.\d+(?:\.|$)/)[0] as string;

/** Renders the hidden field that lists the checkboxes and row lists in the markup of a form. */
export function optionalFields({ markup }: Html): Html {
  const boxes = markup.matchAll(/<input type="checkbox"[^>]*? name="([^"]+)"/g);
  const lists = markup.matchAll(/ value="add ([^"]+)"/g);
  const names = new Set([...boxes, ...lists].map(([, name = '']) => listOf(name)));
  return names.size === 0
    ? nothing
    : html`<input type="hidden" name="${optionalField}" value="${[...names].join(' ')}">`;
}

/**
 * Adds the stored values of fields that the submitted form does not contain, so that saving keeps them. A form lacks
 * the fields of a newer release if its page was opened before an upgrade.
 * @param stored values that the form would show now
 */
export function withStored({ values }: Fields, stored: FormValues): Fields {
  const optional = values[optionalField];
  const names = typeof optional === 'string' ? new Set(optional.split(' ')) : null;
  const isLeftEmpty = (name: string, value: FormValue): boolean =>
    names === null ? listOf(name) !== name || value === 'on' || !isText(value) : names.has(listOf(name));
  const missing = Object.entries(stored).filter(
    ([name, value]) => !Object.hasOwn(values, name) && !isLeftEmpty(name, value),
  );
  return fieldsOf({ ...Object.fromEntries(missing), ...values });
}

const isText = (value: FormValue): boolean => typeof value !== 'boolean' && typeof value !== 'object';
