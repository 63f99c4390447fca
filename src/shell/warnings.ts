import { type Html, html, nothing } from '../platform/http/html.ts';
import { apiText } from './api-text.ts';
import { notice } from './components.ts';
import { fieldName } from './field-names.ts';

/** Warning about a saved field, in the format of the API. */
type SavedWarning = { path: string; message: string };

/** Warning that begins with the label of its field. */
export const fieldWarning = ({ path, message }: SavedWarning): string =>
  `${fieldName(path.slice(1))}: ${apiText(message)}`;

/** Notice about saved values that may be wrong; nothing without warnings. */
export const warningNotice = (
  warnings: readonly SavedWarning[],
  textOf: (warning: SavedWarning) => string = fieldWarning,
): Html =>
  warnings.length === 0
    ? nothing
    : notice('warn', html`<ul>${warnings.map((warning) => html`<li>${asSentence(textOf(warning))}</li>`)}</ul>`);

const asSentence = (text: string): string => (text.endsWith('?') ? text : `${text}.`);
