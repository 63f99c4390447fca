import { type Html, html, nothing, trusted } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';

/** Group of fields with a heading. */
export const fieldGroup = (legend: string, ...fields: readonly (Html | readonly Html[])[]): Html => html`
  <fieldset class="group" id="${sectionId(legend)}">
    <legend>${legend}</legend>
    ${fields.map((field) => html`${field}`)}
  </fieldset>`;

const sectionId = (legend: string): string => `section-${legend.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-')}`;

/** Number of sections from which on a form has an index. */
const sectionsOfLongForm = 4;

/** Links to the groups of a long form, in the order of its markup. */
export function sectionIndex({ markup }: Html): Html {
  const groups = [...markup.matchAll(/<fieldset class="group" id="([^"]+)">\s*<legend>([^<]+)<\/legend>/g)];
  if (groups.length < sectionsOfLongForm) return nothing;
  const links = groups.map(([, id = '', legend = '']) => html`<a href="#${trusted(id)}">${trusted(legend)}</a>`);
  return html`<nav class="sections" aria-label="${t('forms.sections')}">${links}</nav>`;
}

/** Fields side by side if there is room. */
export const columns = (
  fields: readonly (Html | false)[],
  kind: 'tight' | 'narrow' | 'aligned' | 'method' | '' = '',
): Html => html`<div class="columns ${kind}">${fields.map((field) => html`${field}`)}</div>`;

/** Rarely needed fields, initially collapsed. */
export const moreFields = (summary: string, body: Html, { isOpen = false }: { isOpen?: boolean } = {}): Html =>
  html`<details class="more"${isOpen && html` open`}><summary>${summary}</summary>${body}</details>`;
