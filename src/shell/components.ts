import { type Html, html, nothing } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { type IconName, icon } from './icons.ts';

export type Column = {
  text: string;
  numeric?: boolean;
  hidden?: boolean;
  /** Description of the column, as a tooltip. */
  hint?: string;
  /** Link that sorts by the column. `order` is null if another column is sorted. */
  sort?: { id: string; href: string; order: 'ascending' | 'descending' | null };
};
export type Cell = Html | string | number;

/**
 * Table that scrolls sideways if it is too wide, also by keyboard. Cells are in the order of the columns.
 * @param id id of a table that refreshes itself, so that it keeps the focus
 */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  id?: string,
): Html {
  const numeric = (index: number) => columns[index]?.numeric === true && html` class="numeric"`;
  const heading = ({ text, hidden, sort }: Column) => {
    if (hidden === true) return html`<span class="sr">${text}</span>`;
    if (sort === undefined) return text;
    return html`<a class="sort" id="${sort.id}" href="${sort.href}" data-order="${sort.order}">${text}</a>`;
  };
  const headAttributes = ({ hint, sort }: Column): Html =>
    html`${[
      html`${hint !== undefined && html` title="${hint}"`}`,
      html`${sort !== undefined && sort.order !== null && html` aria-sort="${sort.order}"`}`,
    ]}`;
  const head = (column: Column, index: number) =>
    html`<th scope="col"${numeric(index)}${headAttributes(column)}>${heading(column)}</th>`;
  const row = (cells: readonly Cell[]) =>
    html`<tr>${cells.map((cell, index) => html`<td${numeric(index)}>${cell}</td>`)}</tr>`;
  return html`
    <div class="table" role="region" aria-label="${caption}" tabindex="0"${id !== undefined && html` id="${id}"`}>
      <table>
        <caption class="sr">${caption}</caption>
        <thead>
          <tr>${columns.map(head)}</tr>
        </thead>
        <tbody>${rows.map(row)}</tbody>
      </table>
    </div>`;
}

/** Placeholder for an empty list with the next step. */
export const emptyState = (name: IconName, title: string, text: Html | string, action: Html = nothing): Html => html`
  <div class="empty">
    <div class="empty-icon">${icon(name)}</div>
    <h2>${title}</h2>
    <p>${text}</p>
    ${action}
  </div>`;

export const noMatches = (): Html => html`<p class="hint">${t('common.noMatches')}</p>`;

export type Tone = 'good' | 'bad' | 'warn' | 'plain' | 'info';
export const badge = (text: string, tone: Tone = 'plain'): Html => html`<span class="badge ${tone}">${text}</span>`;

/** Message above the content. Screen readers announce failures at once, and other messages politely. */
export function notice(kind: 'done' | 'failed' | 'warn' | 'info', body: Html): Html {
  const role = kind === 'failed' ? html` role="alert"` : kind === 'done' ? html` role="status"` : nothing;
  return html`<div class="notice ${kind}"${role}>${body}</div>`;
}

export const linkButton = (href: string, text: string, kind: 'main' | 'quiet' | '' = ''): Html =>
  html`<a class="button ${kind}" href="${href}">${text}</a>`;

export const link = (href: string, text: string | Html): Html => html`<a href="${href}">${text}</a>`;

/** Link in bold, such as a row's name in a table. */
export const strongLink = (href: string, text: string | Html): Html => link(href, html`<strong>${text}</strong>`);

type CardOptions = { lead?: string | Html; actions?: Html };

export const card = (title: string, body: Html, { lead, actions }: CardOptions = {}): Html => html`
  <section class="card">
    <div class="card-head">
      <div>
        <h2>${title}</h2>
        ${lead !== undefined && html`<p class="hint">${lead}</p>`}
      </div>
      ${actions !== undefined && html`<div class="actions">${actions}</div>`}
    </div>
    ${body}
  </section>`;

/** Links to the previous and the next page. */
export function pager(previous: string | null, next: string | null): Html {
  if (previous === null && next === null) return nothing;
  return html`
    <nav class="pager" aria-label="${t('common.pages')}">
      ${previous !== null && html`<a class="button" rel="prev" href="${previous}">${t('common.previousPage')}</a>`}
      ${next !== null && html`<a class="button" rel="next" href="${next}">${t('common.nextPage')}</a>`}
    </nav>`;
}

/** Text with a copy button, such as a key or a snippet. */
export const copyable = (text: string, label: string): Html => html`
  <div class="copyable">
    <pre tabindex="0" aria-label="${label}"><code>${text}</code></pre>
    <button type="button" class="button small" data-copy aria-label="${t('common.copyLabel', { label })}">
      ${t('common.copy')}
    </button>
  </div>`;

/** Preformatted text that scrolls, also by keyboard. */
export const codeBlock = (label: string, text: string): Html =>
  html`<pre class="block" tabindex="0" aria-label="${label}">${text}</pre>`;

export function tabs(label: string, entries: readonly { text: string; href: string; current: boolean }[]): Html {
  const links = entries.map(
    ({ text, href, current }) => html`<a href="${href}"${current && html` aria-current="page"`}>${text}</a>`,
  );
  return html`<nav class="tabs" aria-label="${label}">${links}</nav>`;
}

/** List of names with their values. */
export const descriptionList = (entries: readonly (readonly [string, Cell])[]): Html => html`
  <dl class="description">
    ${entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
