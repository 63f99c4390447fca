import type { DryRunView } from '../platform/files/counter.ts';
import { type Html, html, nothing } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { notice } from './components.ts';
import { type Fields, fieldErrorsOf } from './context.ts';
import { type FileForm, filePreview, readFileForm } from './file-form.ts';
import { isFragmentRequest, type PageResult } from './pages.ts';
import type { Upload } from './uploads.ts';

/** A submitted form with a file. `to` is the path of its page. */
export type SubmittedFile = {
  request: Parameters<typeof isFragmentRequest>[0];
  to: string;
  fields: Fields;
  upload: Upload | null;
};

/** Import of a file on a page of its own. */
export type FileImport<Result extends { file: DryRunView }> = {
  maxBytes: number;
  /** Names of further fields that affect how the file is read. */
  fieldNames?: readonly string[];
  /** Imports the file, or only checks it (`isDryRun`). */
  run: (bytes: Buffer, file: FileForm, isDryRun: boolean) => Promise<Result>;
  /** Message after the import. */
  doneText: (result: Result) => string;
  /** Description of the changes that the import would make. */
  previewText: (result: Result) => string;
  /**
   * Message of a rejection.
   * @param reasons the first errors, joined; `count` is the number of all errors
   */
  refusedText: (reasons: string, count: number) => string;
  /** Page with the dry run, for browsers without scripts. */
  page: (check: Html) => PageResult | Promise<PageResult>;
};

/** Maximum number of errors in a rejection. */
const maxReasons = 3;

/** Shows the dry run of a file, and imports the file after its dry run was shown. */
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
    const reasons = errors.slice(0, maxReasons).map((error) => `${error.path} ${error.message}`.trim());
    return failed(refusedText(reasons.join('; '), errors.length));
  }
}
