import { hash } from 'node:crypto';
import { AppError } from '../platform/errors.ts';
import { type Html, html, nothing } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { Problem } from '../platform/problem.ts';
import { type Fields, type FormValue, type FormValues, fieldsOf, rowCountIn, rowsField } from './context.ts';
import { type FormBuilder, focusField } from './forms.ts';

/** Maximum number of fields in a form that contains row lists. */
const maxFields = 2000;

type RowList = {
  /** Prefix of the names of the list's fields. */
  name: string;
  /** Display name of a row, such as "Frequency cap". */
  noun: string;
  /** Text of the button that adds a row. */
  add: string;
  /** Name of the first field in a new row. */
  first: string;
  /** Renders a row. `of` is its display name, such as "Frequency cap 2". */
  row: (prefix: string, of: string) => Html;
  /**
   * Parent row, if this list is nested in another row list. Removing the last row of this list also removes the parent
   * row.
   */
  within?: { list: string; row: number };
};

export function rowList(form: FormBuilder, { name, noun, add, first, row, within }: RowList): Html {
  const count = rowCountIn(form.values, name);
  const removal = (index: number): { name: string; action: string } =>
    within !== undefined && count === 1
      ? { name: within.list, action: `remove ${within.list}.${within.row}` }
      : { name, action: `remove ${name}.${index}` };
  const rowAt = (_: unknown, index: number): Html => {
    const of = t('forms.row', { noun, number: index + 1 });
    const label = t('common.removeLabel', { label: of });
    return html`
      <fieldset class="row">
        <legend class="sr">${of}</legend>
        <div class="row-fields">${row(`${name}.${index}`, of)}</div>
        ${rowButton(form, { ...removal(index), text: t('common.remove'), label })}
      </fieldset>`;
  };
  return html`
    <div class="rows" id="${idOf(name)}">
      ${Array.from({ length: count }, rowAt)}
      ${rowButton(form, { name, action: `add ${name}.${count}.${first}`, text: add })}
    </div>`;
}

const idOf = (list: string): string => `rows-${list.replaceAll('.', '-')}`;

type RowButton = {
  /** Name of the row list to replace in the response. */
  name: string;
  action: string;
  text: string;
  label?: string;
};

export function rowButton({ to, focus }: FormBuilder, { name, action, text, label }: RowButton): Html {
  const at = `#${idOf(name)}`;
  const isFocused = focus === name && action.startsWith('add ');
  return html`
    <button class="button small" name="${rowsField}" value="${action}" formnovalidate${isFocused && html` autofocus`}
      ${label !== undefined && html`aria-label="${label}"`}
      hx-post="${to}" hx-target="${at}" hx-select="${at}" hx-swap="outerHTML">${text}</button>`;
}

/** Returns the submitted values with a row added or removed, depending on which button was pressed. */
export function withRowChange(submitted: FormValues): FormValues {
  const [verb = '', name = ''] = String(submitted[rowsField] ?? '').split(' ');
  const values: Record<string, FormValue> = { ...submitted, [rowsField]: undefined };
  if (verb === 'add' && Object.keys(values).length < maxFields)
    return { ...values, [name]: values[name] ?? '', [focusField]: name };
  const [, list = '', index = ''] = /^(.+)\.(\d+)$/.exec(name) ?? [];
  if (verb !== 'remove' || list === '') return values;
  return { ...withoutRow(values, list, Number(index)), [focusField]: list };
}

/** Removes a row and renumbers the rows after it. */
function withoutRow(values: FormValues, list: string, removed: number): FormValues {
  const prefix = `${list}.`;
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const [index = '', ...rest] = name.startsWith(prefix) ? name.slice(prefix.length).split('.') : [];
      if (!/^\d+$/.test(index) || Number(index) < removed) return [[name, value]];
      return Number(index) === removed ? [] : [[[`${list}.${Number(index) - 1}`, ...rest].join('.'), value]];
    }),
  );
}

/** Renders a hidden default button, so that pressing Enter does not remove a row. */
export const defaultButton = (): Html =>
  html`<button class="sr" tabindex="-1" aria-hidden="true">${t('common.save')}</button>`;

/**
 * Name of the hidden field that lists the checkboxes and row lists of a form. Browsers do not submit an unchecked
 * checkbox or an empty row list, so without the list they could not be told apart from fields that the form lacks.
 */
const optionalField = '_optional';

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

/** Name of the hidden field with the version of the stored values from which a form was rendered. */
export const versionField = '_version';

const versionOf = (stored: FormValues): string => hash('sha256', JSON.stringify(stored), 'base64url');

/**
 * Renders the hidden field for a form whose values have no ETag.
 * @param stored values that the form would show without input
 * @param typed submitted values that were neither saved nor refused, and whose version stays
 */
export const storedVersion = (stored: FormValues, typed: FormValues = {}): Html =>
  html`<input type="hidden" name="${versionField}" value="${String(typed[versionField] ?? '') || versionOf(stored)}">`;

/**
 * Refuses a form if the stored values have changed since it was rendered, so that saving it does not overwrite changes
 * that its user has not seen.
 * @throws AppError conflict
 */
export function requireUnchanged(submitted: Fields, stored: FormValues): void {
  const version = submitted.text(versionField);
  if (version !== '' && version !== versionOf(stored))
    throw new AppError('conflict', { message: new Problem('settings.conflict') });
}
