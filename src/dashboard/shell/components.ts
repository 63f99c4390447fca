import { type Html, html, nothing } from '../../platform/http/html.ts';
import { type Context, viewerOf } from './context.ts';
import { csrfField } from './forms.ts';
import { type IconName, icon } from './icons.ts';

export type Column = { text: string; numeric?: boolean; hidden?: boolean };

/** A table that scrolls sideways where it is too wide, also by keyboard. Cells are in the order of the columns. */
export const table = (
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly (Html | string | number)[])[],
): Html =>
  html`<div class="table" role="region" aria-label="${caption}" tabindex="0"><table><caption class="sr">${caption}</caption><thead><tr>${columns.map(
    ({ text, numeric, hidden }) =>
      html`<th scope="col"${numeric === true && html` class="numeric"`}>${hidden === true ? html`<span class="sr">${text}</span>` : text}</th>`,
  )}</tr></thead><tbody>${rows.map((cells) => html`<tr>${cells.map((cell, index) => html`<td${columns[index]?.numeric === true && html` class="numeric"`}>${cell}</td>`)}</tr>`)}</tbody></table></div>`;

/** What an empty page says: what belongs here, and what to do next. */
export const emptyState = (name: IconName, title: string, text: Html | string, action: Html = nothing): Html =>
  html`<div class="empty"><div class="empty-icon">${icon(name)}</div><h2>${title}</h2><p>${text}</p>${action}</div>`;

export type Tone = 'good' | 'bad' | 'warn' | 'plain' | 'info';
export const badge = (text: string, tone: Tone = 'plain'): Html => html`<span class="badge ${tone}">${text}</span>`;

export const linkButton = (href: string, text: string, kind: 'main' | 'quiet' | '' = ''): Html =>
  html`<a class="button ${kind}" href="${href}">${text}</a>`;

export const card = (
  title: string,
  body: Html,
  { lead, actions }: { lead?: string | Html; actions?: Html } = {},
): Html =>
  html`<section class="card"><div class="card-head"><div><h2>${title}</h2>${lead === undefined ? nothing : html`<p class="hint">${lead}</p>`}</div>${actions === undefined ? nothing : html`<div class="actions">${actions}</div>`}</div>${body}</section>`;

type ActionButton = {
  to: string;
  text: string;
  kind?: 'main' | 'quiet' | 'danger' | '';
  small?: boolean;
  /** Asked before it is done. */
  confirm?: string;
  values?: Readonly<Record<string, string | number>>;
};

/** A button that changes something: a form of its own, so that it works without scripts. */
export const actionButton = (
  { request }: Context,
  { to, text, kind = '', small = false, confirm, values = {} }: ActionButton,
): Html =>
  html`<form method="post" action="${to}" class="inline"${confirm !== undefined && html` data-confirm="${confirm}" data-confirm-button="${text}"`}>${csrfField(viewerOf(request))}${Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<button class="button ${kind}${small ? ' small' : ''}">${text}</button></form>`;

type SaveForm = {
  button?: string;
  cancel?: string;
  multipart?: boolean;
  /** Of the form element. */
  attributes?: Html;
  /** Further buttons. */
  extra?: Html;
};

/** A form that saves, with its buttons in a row at the end. */
export const saveForm = (
  { request }: Context,
  to: string,
  body: Html,
  { button = 'Save', cancel, multipart = false, attributes = nothing, extra = nothing }: SaveForm = {},
): Html =>
  html`<form method="post" action="${to}" class="form"${multipart && html` enctype="multipart/form-data"`} novalidate ${attributes}>${csrfField(viewerOf(request))}${body}<div class="form-end"><button class="button main">${button}</button>${extra}${cancel === undefined ? nothing : html`<a class="button quiet" href="${cancel}">Cancel</a>`}</div></form>`;

/** Links to the page before and after; nothing when all fits on one. */
export const pager = (before: string | null, after: string | null): Html =>
  before === null && after === null
    ? nothing
    : html`<nav class="pager" aria-label="Pages">${before === null ? nothing : html`<a class="button" rel="prev" href="${before}">Previous</a>`}${after === null ? nothing : html`<a class="button" rel="next" href="${after}">Next</a>`}</nav>`;

/** Text to copy, such as a key or a snippet. */
export const copyable = (text: string, label: string): Html =>
  html`<div class="copyable"><pre tabindex="0" aria-label="${label}"><code>${text}</code></pre><button type="button" class="button small" data-copy aria-label="Copy: ${label}">Copy</button></div>`;

export const tabs = (label: string, entries: readonly { text: string; href: string; current: boolean }[]): Html =>
  html`<nav class="tabs" aria-label="${label}">${entries.map(({ text, href, current }) => html`<a href="${href}"${current && html` aria-current="page"`}>${text}</a>`)}</nav>`;

/** Names beside values. */
export const facts = (entries: readonly (readonly [string, Html | string | number])[]): Html =>
  html`<dl class="facts">${entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
