import { createHash } from 'node:crypto';
import type { DryRunView, FileWarning } from '../platform/files/counter.ts';
import type { FileOptions } from '../platform/files/query.ts';
import { type Html, html, nothing } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { wordProblem } from '../platform/problem.ts';
import { descriptionList, notice, table } from './components.ts';
import { type Fields, fieldErrorsOf } from './context.ts';
import { count } from './format.ts';
import { columns, type FormBuilder } from './forms.ts';
import { isFragmentRequest, type PageResult, type Upload } from './pages.ts';

/**
 * Options for a file, as entered in a form. `isChecked` is true if the user has already seen the dry run result for
 * exactly this file.
 */
export type FileForm = { options: FileOptions; checked: string; isChecked: boolean };

/**
 * Reads the form fields rendered by `fileFields`.
 * @param bytes the submitted file
 * @param more additional form values that affect how the file is read
 */
export function readFileForm(fields: Fields, bytes: Buffer, more = ''): FileForm {
  const header = fields.text('header');
  const column = fields.text('column').trim();
  const options: FileOptions = {
    isDryRun: false,
    isPartial: fields.text('partial') === 'on',
    header: header === 'present' || header === 'absent' ? header : null,
    column: column === '' ? null : column,
  };
  const checked = createHash('sha256')
    .update(bytes)
    .update(JSON.stringify([options, more]))
    .digest('hex');
  return { options, checked, isChecked: fields.text('checked') === checked };
}

/**
 * Renders the fields that specify how a file is read. Set `hasColumn` if the user can select which column contains the
 * list.
 */
export const fileFields = (form: FormBuilder, { hasColumn }: { hasColumn: boolean }): Html => html`
  ${
    hasColumn &&
    columns([
      form.select('header', {
        label: t('files.header'),
        choices: (['', 'present', 'absent'] as const).map((value) => ({
          value,
          text: t('files.headerChoice', { header: value }),
        })),
      }),
      form.input('column', { label: t('files.column'), hint: t('files.columnHint') }),
    ])
  }
  ${form.checkbox('partial', { label: t('files.partial') })}`;

/** Renders a button that runs a dry run of the file. The result replaces the content of `#file-check`. */
export const checkButton = (at: string, text = t('files.check')): Html => html`
  <button class="button" formaction="${at}" hx-post="${at}" hx-encoding="multipart/form-data" hx-target="#file-check"
    hx-swap="innerHTML" hx-disabled-elt="this">${text}</button>`;

/**
 * Renders the area of a form that shows the dry run result.
 * @param content result to show, and to scroll to, if the whole page was loaded again
 */
export const fileCheckArea = (content: Html): Html => html`
  <div id="file-check" aria-live="polite"${content !== nothing && html` tabindex="-1" data-focus`}>${content}</div>`;

/** Renders a dry run result: how the file is read, its first rows, counts, warnings and the import button. */
export function filePreview(view: DryRunView, { checked, options }: FileForm, note: Html = nothing): Html {
  const { rows, bad, duplicates } = view;
  const isRefused = rows === bad || (bad > 0.01 * rows && !options.isPartial);
  return html`
    <h3>${t('files.preview')}</h3>
    ${descriptionList([
      [t('files.separator'), t('files.separatorName', { separator: separatorName(view.separator) })],
      [t('files.header'), t(view.header ? 'files.hasHeader' : 'files.hasNoHeader')],
      [t('files.columns'), columnList(view.columns)],
      [t('files.rows'), count(rows)],
      [t('files.bad'), count(bad)],
      [t('files.duplicates'), count(duplicates)],
    ])}
    ${note}
    ${view.warnings.length > 0 && notice('warn', listOf(view.warnings.map(warningText)))}
    ${view.sample.length > 0 && sampleTable(view)}
    ${view.errors.length > 0 && listOf(view.errors.slice(0, maxErrors).map(errorText))}
    ${
      isRefused
        ? notice('failed', html`<p>${t(rows === 0 ? 'files.empty' : 'files.tooManyBad')}</p>`)
        : html`<input type="hidden" name="checked" value="${checked}">
          <div class="form-end"><button class="button main">${t('files.import', { rows: rows - bad })}</button></div>`
    }`;
}

/** Maximum number of rejected rows shown on a page. */
const maxErrors = 10;

const listOf = (texts: readonly string[]): Html => html`<ul>${texts.map((text) => html`<li>${text}</li>`)}</ul>`;

const separatorName = (separator: DryRunView['separator']): string =>
  separator === ',' ? 'comma' : separator === ';' ? 'semicolon' : separator === null ? 'none' : 'tab';

const columnList = (fileColumns: DryRunView['columns']): string =>
  fileColumns
    .map(({ name, used_as: role }, at) => {
      const column = name ?? t('files.columnNumber', { number: at + 1 });
      return role === null ? t('files.unused', { column }) : name === role ? column : `${column} → ${role}`;
    })
    .join(', ');

function sampleTable({ sample }: DryRunView): Html {
  const roles = [...new Set(sample.flatMap(({ values }) => Object.keys(values)))];
  const headings = [{ text: t('files.line'), numeric: true }, ...roles.map((text) => ({ text }))];
  return table(
    t('files.firstRows'),
    [...headings, { text: t('files.problem') }],
    sample.map(({ line, values, problem }) => [
      String(line),
      ...roles.map((role) => values[role] ?? ''),
      problem === null ? '' : wordProblem(problem),
    ]),
  );
}

const errorText = ({ line, column, message }: DryRunView['errors'][number]): string =>
  t('forms.line', { line, message: column === null ? wordProblem(message) : `${column}: ${wordProblem(message)}` });

const warningTexts: Readonly<Partial<Record<FileWarning['code'], MessageKey>>> = {
  apostrophes_removed: 'files.apostrophesRemoved',
  formulas_removed: 'files.formulasRemoved',
  columns_ignored: 'files.columnsIgnored',
  separator_unsure: 'files.separatorUnsure',
  header_absent: 'files.headerAbsent',
  weak_pattern: 'files.weakPattern',
  rate_jumps: 'files.rateJumps',
};

/** Returns the text of a warning in the reader's language. */
export function warningText({ code, message, count: number }: FileWarning): string {
  const key = warningTexts[code];
  return key === undefined ? message : t(key, { count: number ?? 0 });
}

/** Submitted form with a file. `to` is the path of the form page. */
export type SubmittedFile = {
  request: Parameters<typeof isFragmentRequest>[0];
  to: string;
  fields: Fields;
  upload: Upload | null;
};

/** Configuration of a file import that has its own page. */
export type FileImport<Result extends { file: DryRunView }> = {
  maxBytes: number;
  /** Names of additional form fields that affect how the file is read. */
  fieldNames?: readonly string[];
  /** Imports the file, or only validates it if `isDryRun` is set. */
  run: (bytes: Buffer, file: FileForm, isDryRun: boolean) => Promise<Result>;
  /** Returns the message shown after the import. */
  doneText: (result: Result) => string;
  /** Returns a description of the changes that the import would make. */
  previewText: (result: Result) => string;
  /**
   * Returns the message shown if the file is rejected.
   * @param reasons the first errors, joined
   * @param count total number of errors
   */
  refusedText: (reasons: string, count: number) => string;
  /** Renders the page with the dry run result, for browsers without scripts. */
  page: (check: Html) => PageResult | Promise<PageResult>;
};

/** Maximum number of errors listed in a rejection message. */
const maxReasons = 3;

/**
 * Handles a file import form. The first submission shows a dry run. The file is imported once its dry run has been
 * shown.
 */
export async function importByForm<Result extends { file: DryRunView }>(
  { request, to, fields, upload }: SubmittedFile,
  { maxBytes, fieldNames = [], run, doneText, previewText, refusedText, page }: FileImport<Result>,
): Promise<PageResult> {
  const isFragment = isFragmentRequest(request);
  const failed = (text: string): PageResult =>
    isFragment ? { fragment: notice('failed', html`<p>${text}</p>`) } : { to, failed: text };
  if (upload === null) return failed(t('offers.chooseFile'));
  if (upload.bytes.length > maxBytes) return failed(t('errors.uploadTooLarge'));
  const file = readFileForm(fields, upload.bytes, fieldNames.map((name) => fields.text(name)).join('\n'));
  try {
    const result = await run(upload.bytes, file, !file.isChecked);
    if (file.isChecked) return { to, done: doneText(result) };
    const again = isFragment ? nothing : html`<p>${t('files.chooseAgain')}</p>`;
    const check = filePreview(result.file, file, html`<p>${previewText(result)}</p>${again}`);
    return isFragment ? { fragment: check } : await page(check);
  } catch (err) {
    const errors = fieldErrorsOf(err);
    const reasons = errors.slice(0, maxReasons).map((error) => `${error.path}: ${error.message}`);
    return failed(refusedText(reasons.join(' '), errors.length));
  }
}
