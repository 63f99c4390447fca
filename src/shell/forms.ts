import { type Html, html, late, nothing, trusted } from '../platform/http/html.ts';
import { t, tHtml } from '../platform/i18n/messages.ts';
import { reader } from '../platform/i18n/reader.ts';
import type { FieldErrors, FormValues } from './context.ts';
import { count, fieldName } from './format.ts';

type FieldOptions = {
  label: string;
  hint?: string | Html;
  required?: boolean;
  /** Maximum length in characters, shown by a character counter. */
  maxLength?: number;
  /** Recommended length in characters. */
  idealLength?: number;
  type?: 'text' | 'email' | 'password' | 'url' | 'number' | 'date' | 'datetime-local' | 'color' | 'time';
  rows?: number;
  autocomplete?: string;
  placeholder?: string;
  /** Minimum and maximum values of a number field. */
  min?: number;
  max?: number;
  step?: string;
  code?: boolean;
  /** Whether the value is secret and must never be stored in the browser, not even in a draft. */
  secret?: boolean;
  autofocus?: boolean;
  /**
   * Name of the row that the field belongs to, such as "Frequency cap 2". It distinguishes fields with the same label
   * in the error summary.
   */
  of?: string;
  /** URL that returns suggestions while the user types. Users can also enter other values. */
  suggestFrom?: string;
  /** ID of a `datalist` element on the page that contains suggestions. */
  list?: string;
  /** Options for a picker. If they are set, a comma-separated list becomes a field with search and selection. */
  picker?: PickerOptions;
};

/**
 * Picker options: the URL that returns the choices, labels by value, a label suffix for values that the user entered,
 * and whether users may enter any value.
 */
export type PickerOptions = {
  source: string;
  labels: Readonly<Record<string, string>>;
  unseen: string;
  free: boolean;
};

export type Choice = { value: string; text: string };

export type FormBuilder = {
  /** URL to which the form is submitted. */
  to: string;
  values: FormValues;
  /**
   * Name of the field that gets the keyboard focus. This is the field that was just added, or the list from which a row
   * was just removed.
   */
  focus: string;
  /** Renders all errors with links to their fields, or nothing if there are no errors. */
  summary: () => Html;
  input: (name: string, options: FieldOptions) => Html;
  textarea: (name: string, options: FieldOptions) => Html;
  select: (name: string, options: FieldOptions & { choices: readonly Choice[] }) => Html;
  checkbox: (name: string, options: CheckboxOptions) => Html;
  /** Renders a group of checkboxes with the same name. */
  checkboxes: (name: string, options: CheckboxGroup) => Html;
  /** Renders radio buttons. The fields of a choice are shown only while it is chosen. */
  choices: (name: string, options: ChoicesOptions) => Html;
  /** Renders a control that the caller created, with its error below. */
  custom: (name: string, label: string, control: Html) => Html;
};

type ChoicesOptions = {
  label: string;
  hint?: string;
  /** Choices with their fields. If no value is stored or submitted, the first one is chosen. */
  choices: readonly (Choice & { hint?: string | undefined; fields?: Html })[];
};

type CheckboxOptions = {
  label: string;
  hint?: string | Html;
  /** Field and value that enable the checkbox. It is disabled while the field has any other value (dashboard.js). */
  needs?: { field: string; value: string };
};

/** State that all controls in a form share. */
type FormState = {
  values: FormValues;
  errors: ReadonlyMap<string, string>;
  /** Labels of the fields rendered so far, by field name. */
  labels: Map<string, string>;
  focus: string;
};

/** Name of the form value that specifies which field gets the keyboard focus. */
export const focusField = '_focus';

/**
 * Creates a form builder whose fields have labels, hints and errors.
 * @param values the stored values, or the submitted values after a validation error
 */
export function createForm(values: FormValues, fieldErrors: FieldErrors = [], to = ''): FormBuilder {
  const errors = new Map<string, string>();
  for (const { path, message } of fieldErrors) {
    const name = path.replace(/^\//, '').replaceAll('/', '.');
    if (!errors.has(name)) errors.set(name, message);
  }
  const focus = String(values[focusField] ?? '');
  const state: FormState = { values, errors, labels: new Map(), focus };
  return {
    to,
    values,
    focus,
    summary: () => (errors.size === 0 ? nothing : late(() => errorSummary(state))),
    input: (name, options) => field(state, name, options, input(state, name, options)),
    textarea: (name, options) => field(state, name, options, textarea(state, name, options)),
    select: (name, options) => field(state, name, options, select(state, name, options)),
    checkbox: (name, options) => checkbox(state, name, options),
    checkboxes: (name, options) => checkboxes(state, name, options),
    choices: (name, options) => choiceGroup(state, name, options),
    custom: (name, label, control) => custom(state, name, label, control),
  };
}

const idOf = (name: string): string => `f-${name.replaceAll(/[^\w-]/g, '-')}`;

const errorOf = ({ errors }: FormState, name: string): string | undefined =>
  errors.get(name) ?? [...errors].find(([path]) => path.startsWith(`${name}.`))?.[1];

function textOf({ values }: FormState, name: string): string {
  const value = values[name];
  return value === null || value === undefined || typeof value === 'boolean' ? '' : String(value);
}

function field(state: FormState, name: string, options: FieldOptions, control: Html): Html {
  const id = idOf(name);
  const error = errorOf(state, name);
  state.labels.set(name, labelOf(options));
  return html`
    <div class="field${error !== undefined && ' invalid'}">
      <div class="label">
        <label for="${id}">${options.label}</label>
        ${options.maxLength !== undefined && counter(id, textOf(state, name), options)}
      </div>
      ${control}
      ${options.hint !== undefined && html`<p class="hint" id="${id}-hint">${options.hint}</p>`}
      ${error !== undefined && errorText(error, `${id}-error`)}
    </div>`;
}

const errorText = (error: string, id?: string): Html =>
  html`<p class="field-error"${id !== undefined && html` id="${id}"`}>${sentence(error)}</p>`;

/** Renders the HTML attributes that all controls share. */
function controlAttributes(state: FormState, name: string, options: FieldOptions): Html {
  const id = idOf(name);
  const isInvalid = errorOf(state, name) !== undefined;
  const describedBy = [
    options.hint !== undefined && `${id}-hint`,
    isInvalid && `${id}-error`,
    options.maxLength !== undefined && `${id}-count`,
  ].filter((id) => id !== false);
  const { autocomplete, placeholder } = options;
  return html`${[
    html`id="${id}" name="${name}"`,
    html`${describedBy.length > 0 && html` aria-describedby="${describedBy.join(' ')}"`}`,
    html`${isInvalid && html` aria-invalid="true"`}`,
    html`${options.required === true && html` required`}`,
    html`${autocomplete !== undefined && html` autocomplete="${autocomplete}"`}`,
    html`${placeholder !== undefined && html` placeholder="${placeholder}"`}`,
    html`${(options.autofocus === true || (name !== '' && state.focus === name)) && html` autofocus`}`,
    html`${options.code === true && html` spellcheck="false" class="code"`}`,
    html`${options.secret === true && html` data-secret`}`,
  ]}`;
}

function input(state: FormState, name: string, options: FieldOptions): Html {
  const { type = 'text', min, max, step = '1', suggestFrom, list = `${idOf(name)}-list` } = options;
  return html`<input type="${type}" ${controlAttributes(state, name, options)} value="${textOf(state, name)}"${[
    html`${min !== undefined && html` min="${min}"`}`,
    html`${max !== undefined && html` max="${max}"`}`,
    html`${type === 'number' && html` step="${step}" inputmode="decimal"`}`,
    html`${counterAttributes(options)}`,
    html`${suggestFrom !== undefined && html` data-suggest="${suggestFrom}"`}`,
    html`${(suggestFrom ?? options.list) !== undefined && html` list="${list}" autocomplete="off"`}`,
    html`${pickerAttributes(options)}`,
  ]}>${suggestFrom !== undefined && html`<datalist id="${list}"></datalist>`}`;
}

const pickerAttributes = ({ picker }: FieldOptions): Html | false =>
  picker !== undefined &&
  html` data-picker="${picker.source}" data-labels="${JSON.stringify(picker.labels)}" data-unseen="${picker.unseen}"${
    picker.free && html` data-free`
  }`;

function textarea(state: FormState, name: string, options: FieldOptions): Html {
  const attributes = html`${[
    controlAttributes(state, name, options),
    html`${counterAttributes(options)}`,
    html`${pickerAttributes(options)}`,
  ]}`;
  // Add a line break, because HTML ignores the first one in a textarea.
  return html`<textarea rows="${options.rows ?? 3}" ${attributes}>${'\n'}${textOf(state, name)}</textarea>`;
}

function select(state: FormState, name: string, options: FieldOptions & { choices: readonly Choice[] }): Html {
  const selected = textOf(state, name);
  const choices = optionsOf(withStored(options.choices, selected === '' ? [] : [selected]), selected);
  return html`<select ${controlAttributes(state, name, options)}>${choices}</select>`;
}

/**
 * Adds selected values that are no longer available as choices, so that saving an unchanged field does not change its
 * value.
 */
function withStored(choices: readonly Choice[], selected: readonly string[]): readonly Choice[] {
  const listed = new Set(choices.map(({ value }) => value));
  return [...selected.filter((value) => !listed.has(value)).map((value) => ({ value, text: value })), ...choices];
}

export const optionsOf = (choices: readonly Choice[], selected: string): Html[] =>
  choices.map(
    ({ value, text }) => html`<option value="${value}"${value === selected && html` selected`}>${text}</option>`,
  );

function checkbox(state: FormState, name: string, { label, hint, needs }: CheckboxOptions): Html {
  const error = errorOf(state, name);
  const id = idOf(name);
  state.labels.set(name, label);
  // A stored checkbox value is `true`, whereas a submitted one is `'on'`.
  const checked = (state.values[name] === true || state.values[name] === 'on') && html` checked`;
  const describedBy = hint !== undefined && html` aria-describedby="${id}-hint"`;
  const off = needs !== undefined && textOf(state, needs.field) !== needs.value && html` disabled`;
  const condition = needs && html` data-needs="${needs.field}" data-needs-value="${needs.value}"${off}`;
  return html`
    <div class="field check">
      <label for="${id}">
        <input type="checkbox" id="${id}" name="${name}" value="on"${checked}${describedBy}${condition}>
        <span>${label}</span>
      </label>
      ${hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>`}
      ${error !== undefined && errorText(error)}
    </div>`;
}

type CheckboxGroup = { label: string; of?: string; hint?: string; choices: readonly Choice[] };

/** Returns the selected values of a checkbox group, whether stored or submitted. */
export function chosenOf(values: FormValues, name: string): readonly string[] {
  const value = values[name];
  return Array.isArray(value) ? value : typeof value === 'string' && value !== '' ? [value] : [];
}

function checkboxes(state: FormState, name: string, { label, of, hint, choices }: CheckboxGroup): Html {
  const error = errorOf(state, name);
  const selected = chosenOf(state.values, name);
  state.labels.set(name, labelOf({ label, of }));
  const isLong = choices.length > 4 && choices.some(({ text }) => text.length > 24);
  const box = (choice: Choice) => html`
    <label>
      <input type="checkbox" name="${name}" value="${choice.value}"${selected.includes(choice.value) && html` checked`}>
      <span>${choice.text}</span>
    </label>`;
  return html`
    <fieldset class="field" id="${idOf(name)}">
      <legend>${label}</legend>
      ${hint !== undefined && html`<p class="hint">${hint}</p>`}
      <div class="boxes${isLong && ' many'}">${withStored(choices, selected).map(box)}</div>
      ${error !== undefined && errorText(error)}
    </fieldset>`;
}

const choiceHintId = (name: string, value: string): string => `${idOf(`${name}.${value}`)}-hint`;

type ChoiceState = { name: string; value: string; hint: string | undefined; selected: string | undefined };

const choiceState = ({ name, value, hint, selected }: ChoiceState): Html =>
  html`${[
    html`${value === selected && html` checked`}`,
    html`${hint !== undefined && html` aria-describedby="${choiceHintId(name, value)}"`}`,
  ]}`;

function choiceGroup(state: FormState, name: string, { label, hint, choices }: ChoicesOptions): Html {
  const error = errorOf(state, name);
  const text = textOf(state, name);
  const selected = choices.some(({ value }) => value === text) ? text : choices[0]?.value;
  state.labels.set(name, label);
  const choice = ({ value, text, hint, fields }: ChoicesOptions['choices'][number]) => html`
    <div class="choice">
      <label>
        <input type="radio" name="${name}" value="${value}"${choiceState({ name, value, hint, selected })}>
        <span>${text}</span>
      </label>
      ${hint !== undefined && html`<p class="hint" id="${choiceHintId(name, value)}">${hint}</p>`}
      ${fields !== undefined && html`<div class="choice-fields">${fields}</div>`}
    </div>`;
  return html`
    <fieldset class="field choices" id="${idOf(name)}">
      <legend>${label}</legend>
      ${hint !== undefined && html`<p class="hint">${hint}</p>`}
      ${choices.map(choice)}
      ${error !== undefined && errorText(error)}
    </fieldset>`;
}

function custom(state: FormState, name: string, label: string, control: Html): Html {
  const error = errorOf(state, name);
  state.labels.set(name, label);
  return html`
    <div class="field${error !== undefined && ' invalid'}" id="${idOf(name)}" tabindex="-1">
      ${control}
      ${error !== undefined && errorText(error)}
    </div>`;
}

/**
 * Renders the attributes for the character counter. Scripts update the counter. Without scripts, it shows the initial
 * length.
 */
const counterAttributes = ({ maxLength, idealLength }: FieldOptions): Html | false =>
  maxLength !== undefined &&
  html` data-max="${maxLength}"${idealLength !== undefined && html` data-ideal="${idealLength}"`}`;

function counter(id: string, text: string, { maxLength = 0, idealLength }: FieldOptions): Html {
  const ideal =
    idealLength !== undefined && html` <span class="ideal">${t('forms.ideal', { length: idealLength })}</span>`;
  const { length } = [...text];
  const limit = count(maxLength);
  return html`<span class="count" id="${id}-count"><span data-count>${length}</span> / ${limit}${ideal}</span>`;
}

const sentence = (text: string): string =>
  text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');

/** Lower-cases the first letter of an English noun for use within a sentence. */
const lowerFirst = (text: string): string =>
  reader().language === 'en' ? text.charAt(0).toLowerCase() + text.slice(1) : text;

/** Returns the name that the error summary shows for a field. */
const labelOf = ({ label, of }: { label: string; of?: string | undefined }): string =>
  of === undefined ? label : t('forms.of', { of, label: lowerFirst(label) });

/**
 * Renders all errors, each with its field label. An error for a field that the form does not contain is shown with the
 * field name.
 */
function errorSummary({ errors, labels }: FormState): Html {
  const isOf = (name: string) => (field: string) => name === field || name.startsWith(`${field}.`);
  const fields = [...labels.keys()];
  // An error of several fields, such as those of a rule's match, leads to the first one.
  const fieldOf = (name: string): string | undefined =>
    fields.filter(isOf(name)).sort((a, b) => b.length - a.length)[0] ??
    (name === '' ? undefined : fields.find((field) => field.startsWith(`${name}.`)));
  const entries = [...errors].map(([name, message]) => {
    const field = fieldOf(name);
    if (field !== undefined) return html`<li><a href="#${idOf(field)}">${labels.get(field)}</a>: ${message}</li>`;
    if (name === '') return html`<li>${sentence(message)}</li>`;
    return html`<li>${fieldName(name).replaceAll(/[._]/g, ' ')}: ${message}</li>`;
  });
  return html`
    <div class="notice failed" role="alert" tabindex="-1" data-focus>
      <p>${tHtml('forms.notSaved', { count: entries.length })}</p>
      <ul>${entries}</ul>
    </div>`;
}

/** Renders a select field for list filters. The first choice disables the filter. */
export const filterSelect = (name: string, label: string, choices: readonly Choice[], selected: string): Html =>
  createForm({ [name]: selected }).select(name, { label, choices: [{ value: '', text: t('common.all') }, ...choices] });

/** Renders a group of fields with a heading. */
export const fieldGroup = (legend: string, ...fields: readonly (Html | readonly Html[])[]): Html => html`
  <fieldset class="group" id="${sectionId(legend)}">
    <legend>${legend}</legend>
    ${fields.map((field) => html`${field}`)}
  </fieldset>`;

const sectionId = (legend: string): string => `section-${legend.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-')}`;

/** Minimum number of sections for which a form shows an index. */
const sectionsOfLongForm = 4;

/** Renders links to the sections of a long form, in the order of its markup. */
export function sectionIndex({ markup }: Html): Html {
  const groups = [...markup.matchAll(/<fieldset class="group" id="([^"]+)">\s*<legend>([^<]+)<\/legend>/g)];
  if (groups.length < sectionsOfLongForm) return nothing;
  const links = groups.map(([, id = '', legend = '']) => html`<a href="#${trusted(id)}">${trusted(legend)}</a>`);
  return html`<nav class="sections" aria-label="${t('forms.sections')}">${links}</nav>`;
}

/** Renders fields side by side if there is enough room. */
export const columns = (
  fields: readonly (Html | false)[],
  kind: 'tight' | 'narrow' | 'aligned' | 'method' | '' = '',
): Html => html`<div class="columns ${kind}">${fields.map((field) => html`${field}`)}</div>`;

/** Whether one of the fields has an error. */
export const hasError = ({ markup }: Html): boolean => markup.includes('class="field-error"');

/**
 * Renders rarely used fields in a section that is initially collapsed, unless one of its fields has an error.
 * @param group name of a group of sections, of which the browser opens one at a time; sections with errors stay open
 */
export function moreFields(
  summary: string,
  body: Html,
  { isOpen = false, group }: { isOpen?: boolean; group?: string } = {},
): Html {
  const isWrong = hasError(body);
  const name = group !== undefined && !isWrong && html` name="${group}"`;
  const open = (isOpen || isWrong) && html` open`;
  return html`<details class="more"${name}${open}><summary>${summary}</summary>${body}</details>`;
}

/** Renders groups of fields with headings. In the form for a new row, they are collapsed, so that it stays short. */
export const fieldGroups = (
  isNew: boolean,
  groups: readonly (readonly [legend: string, ...fields: (Html | readonly Html[])[]])[],
): Html =>
  html`${groups.map(([legend, ...fields]) =>
    isNew ? moreFields(legend, html`${fields.map((field) => html`${field}`)}`) : fieldGroup(legend, ...fields),
  )}`;

/** Splits a list at commas and line breaks. An item that contains a comma or line break must be quoted. */
export const splitList = (text: string): string[] =>
  [...text.matchAll(/[^\S\n]*"((?:[^"]|"")*)"[^\S\n]*(?=[,\n]|$)|[^,\n]+/g)]
    .map(([whole, quoted]) => (quoted === undefined ? whole.trim() : quoted.replaceAll('""', '"')))
    .filter((item) => item !== '');

/** Joins list items into text that {@link splitList} can parse. */
export const joinList = (items: readonly unknown[]): string =>
  items
    .map(String)
    .map((item) => (/[,\n]|^["\s]|\s$/.test(item) ? `"${item.replaceAll('"', '""')}"` : item))
    .join(', ');

/**
 * JSON object whose nested values are edited in form fields, which are named by their path, such as
 * `settings.offerText.font`.
 */
export type Nested = { readonly [name: string]: unknown };

export const isNested = (value: unknown): value is Nested =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const valueAt = (root: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((at, name) => (isNested(at) && Object.hasOwn(at, name) ? at[name] : undefined), root);

/** Returns a copy of the object in which the value at a path is set. */
export function withValue(root: Nested, path: string, value: unknown): Nested {
  const [name = '', ...rest] = path.split('.');
  const inner = root[name];
  return {
    ...root,
    [name]: rest.length === 0 ? value : withValue(isNested(inner) ? inner : {}, rest.join('.'), value),
  };
}

/** Returns a copy of the object without the value at a path. Objects that become empty are removed too. */
export function withoutValue(root: Nested, path: string): Nested {
  const [name = '', ...rest] = path.split('.');
  if (!Object.hasOwn(root, name)) return root;
  const { [name]: inner, ...others } = root;
  if (rest.length === 0 || !isNested(inner)) return others;
  const remainder = withoutValue(inner, rest.join('.'));
  return Object.keys(remainder).length === 0 ? others : { ...others, [name]: remainder };
}

/**
 * Merges two objects deeply. Nested objects are merged. For all other values, those in the second object take
 * precedence.
 */
export function mergeNested(under: Nested, over: Nested): Nested {
  const merged: Record<string, unknown> = { ...under };
  for (const [name, value] of Object.entries(over)) {
    const below = under[name];
    merged[name] = isNested(value) && isNested(below) ? mergeNested(below, value) : value;
  }
  return merged;
}

/** Returns the JSON text of an object for a form field, or an empty string for an empty object. */
export const jsonText = (value: Nested): string =>
  Object.keys(value).length === 0 ? '' : JSON.stringify(value, null, 2);

/** Parses the JSON text of a form field. Invalid text is returned unchanged, so that validation rejects it. */
export function readJson(text: string): Nested | string {
  if (text === '') return {};
  try {
    const value = JSON.parse(text) as unknown;
    return isNested(value) ? value : text;
  } catch {
    return text;
  }
}
