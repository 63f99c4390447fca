import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import type { Viewer } from './context.ts';

/** What somebody typed: every field by its name; unchecked boxes are absent. */
export type Fields = {
  /** The first value; empty when there is none. Line ends are \n, blanks around are cut. */
  text: (name: string) => string;
  all: (name: string) => string[];
  /** Whether a box is ticked. */
  checked: (name: string) => boolean;
  /**
   * An integer or number as typed; null: empty. What is no number stays a text, for the check of the value to refuse.
   */
  number: (name: string) => number | string | null;
};

/** Reads a form's body. NUL, which no text may hold, is dropped. */
export function fieldsOf(params: URLSearchParams): Fields {
  const clean = (text: string): string => text.replaceAll('\0', '').replaceAll('\r\n', '\n').trim();
  const text = (name: string): string => clean(params.get(name) ?? '');
  return {
    text,
    all: (name) => params.getAll(name).map(clean),
    checked: (name) => params.has(name),
    number: (name) => {
      const typed = text(name);
      if (typed === '') return null;
      return /^-?\d{1,15}(\.\d{1,9})?$/.test(typed) ? Number(typed) : typed;
    },
  };
}

export type Problems = readonly ErrorDetail[];

/** What is wrong with what was typed, where an action was refused for that; throws everything else on. */
export function problemsOf(err: unknown): Problems {
  if (err instanceof AppError && err.status < 500 && err.status !== 403 && err.status !== 404)
    return err.details ?? [{ path: '/', message: err.message }];
  throw err;
}

export type FieldOptions = {
  label: string;
  hint?: string | Html;
  required?: boolean;
  /** Longest text (characters); a counter shows it. */
  max?: number;
  /** Length that reads best (characters). */
  ideal?: number;
  type?: 'text' | 'email' | 'password' | 'url' | 'number' | 'date' | 'datetime-local' | 'color' | 'time';
  rows?: number;
  autocomplete?: string;
  placeholder?: string;
  /** For numbers. */
  min?: number;
  most?: number;
  step?: string;
  code?: boolean;
  autofocus?: boolean;
};

type Choice = { value: string; text: string };

export type FormBuilder = {
  /** Everything that is wrong, with links to the fields; nothing when all is well. */
  summary: () => Html;
  input: (name: string, options: FieldOptions) => Html;
  area: (name: string, options: FieldOptions) => Html;
  select: (name: string, options: FieldOptions & { choices: readonly Choice[] }) => Html;
  check: (name: string, options: { label: string; hint?: string | Html; disabled?: boolean }) => Html;
  /** A group of boxes that share a name. */
  checks: (name: string, options: { label: string; hint?: string; choices: readonly Choice[] }) => Html;
};

export type FormValue = string | number | boolean | null | undefined | readonly string[];

/**
 * The fields of a form, each with its label, hint and, beside it, what is wrong with it. `values` are the stored ones,
 * or after
 * a refusal what was typed. Paths of problems are JSON pointers: `/rules/country` belongs to the field `rules.country`.
 */
export function createForm(values: Readonly<Record<string, FormValue>>, problems: Problems = []): FormBuilder {
  const byField = new Map<string, string>();
  for (const { path, message } of problems) {
    const name = path.replace(/^\//, '').replaceAll('/', '.');
    if (!byField.has(name)) byField.set(name, message);
  }
  const shown = new Set<string>();
  const problemOf = (name: string): string | undefined => {
    shown.add(name);
    return byField.get(name) ?? [...byField].find(([path]) => path.startsWith(`${name}.`))?.[1];
  };
  const textOf = (name: string): string => {
    const value = values[name];
    return value === null || value === undefined || typeof value === 'boolean' ? '' : String(value);
  };

  function field(name: string, options: FieldOptions, control: (attributes: Html) => Html): Html {
    const id = idOf(name);
    const problem = problemOf(name);
    const described = [
      options.hint !== undefined && `${id}-hint`,
      problem !== undefined && `${id}-error`,
      options.max !== undefined && `${id}-count`,
    ];
    const describedBy = described.filter((one) => one !== false).join(' ');
    const attributes = html`id="${id}" name="${name}"${describedBy === '' ? nothing : html` aria-describedby="${describedBy}"`}${problem === undefined ? nothing : html` aria-invalid="true"`}${options.required === true && html` required`}${options.autocomplete !== undefined && html` autocomplete="${options.autocomplete}"`}${options.placeholder !== undefined && html` placeholder="${options.placeholder}"`}${options.autofocus === true && html` autofocus`}${options.code === true && html` spellcheck="false" class="code"`}`;
    return html`<div class="field${problem === undefined ? '' : ' invalid'}"><div class="label"><label for="${id}">${options.label}</label>${options.required === true ? nothing : nothing}${options.max === undefined ? nothing : counter(id, textOf(name), options)}</div>${control(attributes)}${options.hint === undefined ? nothing : html`<p class="hint" id="${id}-hint">${options.hint}</p>`}${problem === undefined ? nothing : html`<p class="problem" id="${id}-error">${sentence(problem)}</p>`}</div>`;
  }

  return {
    summary: () => (problems.length === 0 ? nothing : summaryOf(byField)),
    input: (name, options) =>
      field(
        name,
        options,
        (attributes) =>
          html`<input type="${options.type ?? 'text'}" ${attributes} value="${textOf(name)}"${options.min !== undefined && html` min="${options.min}"`}${options.most !== undefined && html` max="${options.most}"`}${options.type === 'number' && html` step="${options.step ?? '1'}" inputmode="decimal"`}${counting(options)}>`,
      ),
    area: (name, options) =>
      field(
        name,
        options,
        (attributes) =>
          html`<textarea rows="${options.rows ?? 3}" ${attributes}${counting(options)}>${'\n'}${textOf(name)}</textarea>`,
      ),
    select: (name, options) => {
      const chosen = textOf(name);
      const listed = options.choices.some(({ value }) => value === chosen);
      // What is stored stays chosen, also where the choices do not hold it: a form must not change what nobody touched.
      const choices = listed || chosen === '' ? options.choices : [{ value: chosen, text: chosen }, ...options.choices];
      return field(
        name,
        options,
        (attributes) =>
          html`<select ${attributes}>${choices.map(({ value, text }) => html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`)}</select>`,
      );
    },
    check: (name, { label, hint, disabled }) => {
      const problem = problemOf(name);
      const id = idOf(name);
      return html`<div class="field check"><label for="${id}"><input type="checkbox" id="${id}" name="${name}" value="on"${values[name] === true && html` checked`}${disabled === true && html` disabled`}${hint !== undefined && html` aria-describedby="${id}-hint"`}><span>${label}</span></label>${hint === undefined ? nothing : html`<p class="hint" id="${id}-hint">${hint}</p>`}${problem === undefined ? nothing : html`<p class="problem">${sentence(problem)}</p>`}</div>`;
    },
    checks: (name, { label, hint, choices }) => {
      const problem = problemOf(name);
      const chosen = Array.isArray(values[name]) ? (values[name] as readonly string[]) : [];
      return html`<fieldset class="field"><legend>${label}</legend>${hint === undefined ? nothing : html`<p class="hint">${hint}</p>`}<div class="boxes">${choices.map(({ value, text }) => html`<label><input type="checkbox" name="${name}" value="${value}"${chosen.includes(value) && html` checked`}><span>${text}</span></label>`)}</div>${problem === undefined ? nothing : html`<p class="problem">${sentence(problem)}</p>`}</fieldset>`;
    },
  };
}

const idOf = (name: string): string => `f-${name.replaceAll(/[^\w-]/g, '-')}`;

/** The counter is kept up to date in the browser; without scripts it shows where things stood. */
const counting = ({ max, ideal }: FieldOptions): Html | false =>
  max !== undefined && html` data-max="${max}"${ideal !== undefined && html` data-ideal="${ideal}"`}`;

const counter = (id: string, text: string, { max, ideal }: FieldOptions): Html =>
  html`<span class="count" id="${id}-count"><span data-count>${[...text].length}</span> / ${max ?? ''}${ideal !== undefined && html` <span class="ideal">ideal ${ideal}</span>`}</span>`;

const sentence = (text: string): string =>
  text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');

function summaryOf(byField: ReadonlyMap<string, string>): Html {
  const entries = [...byField].map(([name, message]) =>
    name === ''
      ? html`<li>${sentence(message)}</li>`
      : html`<li><a href="#${idOf(name)}">${name.replaceAll(/[._]/g, ' ')}</a>: ${message}</li>`,
  );
  return html`<div class="notice failed" role="alert" tabindex="-1" data-focus><p><strong>Not saved yet.</strong> ${entries.length === 1 ? 'One thing is' : `${entries.length} things are`} to be mended:</p><ul>${entries}</ul></div>`;
}

/** Without it no form changes anything. */
export const csrfField = ({ csrf }: Viewer): Html => html`<input type="hidden" name="_csrf" value="${csrf}">`;
