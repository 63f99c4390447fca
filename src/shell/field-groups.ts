import { type Html, html, nothing, trusted } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';

/** A group of fields with a heading. */
export const fieldGroup = (legend: string, ...fields: readonly (Html | readonly Html[])[]): Html => html`
  <fieldset class="group" id="${sectionId(legend)}">
    <legend>${legend}</legend>
    ${fields.map((field) => html`${field}`)}
  </fieldset>`;

const sectionId = (legend: string): string => `section-${legend.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-')}`;

/** Sections of a form from which on it has an index (count). */
const sectionsOfLongForm = 4;

/** Links to the groups of a long form, as they stand in its markup. */
export function sectionIndex({ markup }: Html): Html {
  const found = [...markup.matchAll(/<fieldset class="group" id="([^"]+)">\s*<legend>([^<]+)<\/legend>/g)];
  if (found.length < sectionsOfLongForm) return nothing;
  const links = found.map(([, id = '', legend = '']) => html`<a href="#${trusted(id)}">${trusted(legend)}</a>`);
  return html`<nav class="sections" aria-label="${t('forms.sections')}">${links}</nav>`;
}

/** Fields side by side where there is room. */
export const columns = (
  fields: readonly (Html | false)[],
  kind: 'tight' | 'narrow' | 'aligned' | 'method' | '' = '',
): Html => html`<div class="columns ${kind}">${fields.map((field) => html`${field}`)}</div>`;

/** Rarely needed fields, collapsed at first. */
export const moreFields = (summary: string, body: Html, { isOpen = false }: { isOpen?: boolean } = {}): Html =>
  html`<details class="more"${isOpen && html` open`}><summary>${summary}</summary>${body}</details>`;
