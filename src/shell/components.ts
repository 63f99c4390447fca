import type { ErrorDetail } from '../platform/errors.ts';
import { type Html, html, nothing, trusted } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { wordProblem } from '../platform/problem.ts';
import { createToken } from '../platform/security/random-token.ts';
import { csrfFieldName, onceFieldName, type PageContext, type Viewer, viewerOf } from './context.ts';
import { fieldName } from './format.ts';
import { optionalFields } from './row-list.ts';

/** Icon outlines on a 20 × 20 grid, drawn in the text colour. */
const outlines = {
  overview: '<path d="M3 16V9M8 16V4M13 16v-5M18 16V7"/>',
  reports: '<path d="M3 3v14h14M6.5 12l3-4 3 2.5L17 5"/>',
  experiments: '<path d="M8 3v5L3.5 15.5A1 1 0 0 0 4.4 17h11.2a1 1 0 0 0 .9-1.5L12 8V3M7 3h6M6 12h8"/>',
  alerts: '<path d="M5 14V9a5 5 0 0 1 10 0v5l1.5 1.5h-13zM8.5 17.5h3"/>',
  offers: '<path d="M3 8.5V4a1 1 0 0 1 1-1h4.5L17 11.5 11.5 17z"/><circle cx="6.7" cy="6.7" r="1"/>',
  coupons: '<path d="M3 6h14v3a1.5 1.5 0 0 0 0 3v3H3v-3a1.5 1.5 0 0 0 0-3zM12 6v2M12 10v1.5M12 13.5V15"/>',
  drafts: '<path d="M5 3h7l3 3v11H5zM12 3v3h3M7.5 12.5l1.8 1.8 3.4-4"/>',
  campaigns: '<path d="M3 8v4h3l7 4V4L6 8zM16 8a3 3 0 0 1 0 4"/>',
  advertisers: '<path d="M3 8l1.5-5h11L17 8M3 8v9h14V8M3 8h14M8 17v-5h4v5"/>',
  integration: '<path d="M7 6l-4 4 4 4M13 6l4 4-4 4"/>',
  mail: '<rect x="2.5" y="4.5" width="15" height="11" rx="1.5"/><path d="M3 6l7 5 7-5"/>',
  deliveries: '<path d="M17 3L9 11M17 3l-5 14-3-6-6-3z"/>',
  settings: '<path d="M3 6h8M15 6h2M3 14h2M9 14h8"/><circle cx="13" cy="6" r="2"/><circle cx="7" cy="14" r="2"/>',
  languages:
    '<path d="M3 5h8M7 3v2M9.5 5c-.5 3-2.5 5-6 6.5M4.5 5c.5 2.5 2.5 4.5 5 5.5M9.5 17l3.5-8 3.5 8M10.8 14h4.4"/>',
  themes: '<circle cx="10" cy="10" r="7"/><path d="M10 3v14a7 7 0 0 0 0-14z" fill="currentColor" stroke="none"/>',
  controls: '<circle cx="10" cy="10" r="7"/><path d="M5 5l10 10"/>',
  placements: '<rect x="3" y="3" width="14" height="14" rx="2"/><path d="M3 8h14M8 8v9"/>',
  sequence: '<path d="M8 5h9M8 10h9M8 15h9M3 4l1-.5V7M2.8 13.3c1.6-1 2.4.3 1.4 1.4L2.8 16.5h2.4"/>',
  keys: '<circle cx="7" cy="13" r="3.5"/><path d="M9.5 10.5L17 3M14 6l2 2"/>',
  webhooks:
    '<circle cx="5" cy="15" r="2"/><circle cx="15" cy="15" r="2"/><circle cx="10" cy="5" r="2"/>' +
    '<path d="M9 6.8L6 13M11 6.8l3 6.2M7 15h6"/>',
  sources: '<path d="M3 3v14M17 10H7M11 6l-4 4 4 4"/>',
  portal: '<rect x="3" y="4" width="14" height="12" rx="1.5"/><path d="M3 7.5h14M8 12h4M10 10v4"/>',
  roles: '<path d="M10 2.5l6 2v5c0 4-2.5 6.5-6 8-3.5-1.5-6-4-6-8v-5zM7.5 9.5l2 2 3.5-4"/>',
  users:
    '<circle cx="8" cy="7" r="3"/>' +
    '<path d="M2.5 17a5.5 5.5 0 0 1 11 0M13.5 4.5a3 3 0 0 1 0 5M15 12.5a5 5 0 0 1 2.5 4.5"/>',
  activity: '<path d="M3.5 10a6.5 6.5 0 1 0 2-4.7L3.5 7M3.5 3v4h4M10 6.5V10l2.5 2"/>',
  publishers: '<path d="M4 17V4a1 1 0 0 1 1-1h6a1 1 0 0 1 1 1v13M12 8h3a1 1 0 0 1 1 1v8M2 17h16M7 7h2M7 11h2"/>',
  system: '<path d="M2 10h4l2-6 4 12 2-6h4"/>',
  account: '<circle cx="10" cy="7" r="3.5"/><path d="M3.5 17a6.5 6.5 0 0 1 13 0"/>',
  rates: '<path d="M4 7h12l-3-3M16 13H4l3 3"/>',
  pin: '<path d="M10 2.8l2.2 4.6 5 .7-3.6 3.5.9 5-4.5-2.4-4.5 2.4.9-5L2.8 8.1l5-.7z"/>',
  back: '<path d="M16 10H4M9 5l-5 5 5 5"/>',
  menu: '<path d="M3 6h14M3 10h14M3 14h14"/>',
  plus: '<path d="M10 4v12M4 10h12"/>',
  chevron: '<path d="M6 8l4 4 4-4"/>',
  search: '<circle cx="9" cy="9" r="5.5"/><path d="M13 13l4 4"/>',
  check: '<path d="M4 10.5l4 4 8-9"/>',
  alert: '<path d="M10 3L2 17h16zM10 8v4M10 14.5v.1"/>',
} as const;

export type IconName = keyof typeof outlines;

const strokes = 'fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"';

/** Renders an icon. It is hidden from screen readers, because the adjacent text has the same meaning. */
export const icon = (name: IconName): Html =>
  trusted(
    `<svg class="icon" viewBox="0 0 20 20" width="20" height="20" ${strokes} aria-hidden="true">` +
      `${outlines[name]}</svg>`,
  );

export type Column = {
  text: string;
  numeric?: boolean;
  hidden?: boolean;
  /** Column description, shown as a tooltip. */
  hint?: string;
  /** Link that sorts the table by this column. `order` is null if the table is sorted by another column. */
  sort?: { id: string; href: string; order: 'ascending' | 'descending' | null };
};
export type Cell = Html | string | number;

/** Minimum number of columns of a table whose rows become blocks on phones. */
const stackedColumns = 3;

/** Maximum number of rows of a table of figures whose rows become blocks, because nobody compares so few. */
const stackedRows = 2;

/** Whether the cells of each row are stacked on phones. Longer tables of figures are scrolled instead. */
const isStackable = (columns: readonly Column[], rowCount: number): boolean =>
  columns.length >= stackedColumns &&
  columns.every(({ sort }) => sort === undefined) &&
  (rowCount <= stackedRows || columns.filter(({ numeric }) => numeric === true).length * 2 <= columns.length);

/**
 * Renders a table. A table that is too wide can be scrolled horizontally, including with the keyboard. On phones, each
 * row of a text table is a block in which cells have the labels of their columns. Cells are in column order.
 * @param id element ID for a table that refreshes itself and must keep the keyboard focus
 * @param totals cells of a row of totals below all other rows
 */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  id?: string,
  totals?: readonly Cell[],
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
  const isStacked = isStackable(columns, totals === undefined ? rows.length : Number.POSITIVE_INFINITY);
  const label = (index: number) =>
    isStacked && columns[index]?.hidden !== true && html` data-label="${columns[index]?.text}"`;
  const row = (cells: readonly Cell[]) =>
    html`<tr>${cells.map((cell, index) => html`<td${label(index)}${numeric(index)}>${cell}</td>`)}</tr>`;
  return html`
    <div class="table${isStacked && ' stacked'}"${id !== undefined && html` id="${id}"`} role="region"
      aria-label="${caption}" tabindex="0">
      <table>
        <caption class="sr">${caption}</caption>
        <thead>
          <tr>${columns.map(head)}</tr>
        </thead>
        <tbody>${rows.map(row)}</tbody>
        ${totals !== undefined && html`<tfoot>${row(totals)}</tfoot>`}
      </table>
    </div>`;
}

/** Renders the placeholder for an empty list, including a suggested next step. */
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

/** Renders a message above the content. Screen readers announce failures immediately and other messages politely. */
export function notice(kind: 'done' | 'failed' | 'warn' | 'info', body: Html): Html {
  const role = kind === 'failed' ? html` role="alert"` : kind === 'done' ? html` role="status"` : nothing;
  return html`<div class="notice ${kind}"${role}>${body}</div>`;
}

export const linkButton = (href: string, text: string, kind: 'main' | 'quiet' | '' = ''): Html =>
  html`<a class="button ${kind}" href="${href}">${text}</a>`;

export const link = (href: string, text: string | Html): Html => html`<a href="${href}">${text}</a>`;

/** Renders a bold link, such as the name in a table row. */
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

/**
 * Renders a card next to a form whose content comes from `url`, and is updated after each change in the form.
 * @param hint text until the content has arrived
 */
export const liveCard = (title: string, url: string, { hint, ...options }: CardOptions & { hint: string }): Html =>
  html`
  <div class="sticky">
    ${card(
      title,
      html`
        <div aria-live="polite" hx-post="${url}" hx-include="closest .split"
          hx-trigger="load, change delay:300ms from:closest .split">
          <p class="hint">${hint}</p>
        </div>`,
      options,
    )}
  </div>`;

/** Renders a card with details that is closed until the user opens it. */
export const collapsedCard = (
  title: string,
  body: Html,
  { lead, isOpen = false }: { lead?: string | Html; isOpen?: boolean } = {},
): Html => html`
  <details class="card collapsed"${isOpen && html` open`}>
    <summary><h2>${title}</h2></summary>
    ${lead !== undefined && html`<p class="hint">${lead}</p>`}
    ${body}
  </details>`;

/** Renders links to the previous and next pages. */
export function pager(previous: string | null, next: string | null): Html {
  if (previous === null && next === null) return nothing;
  return html`
    <nav class="pager" aria-label="${t('common.pages')}">
      ${previous !== null && html`<a class="button" rel="prev" href="${previous}">${t('common.previousPage')}</a>`}
      ${next !== null && html`<a class="button" rel="next" href="${next}">${t('common.nextPage')}</a>`}
    </nav>`;
}

/** Renders text with a copy button, such as an API key or a code snippet. A single line wraps on narrow screens. */
export const copyable = (text: string, label: string): Html => html`
  <div class="copyable${!text.includes('\n') && ' one-line'}">
    <pre tabindex="0" aria-label="${label}"><code>${text.includes('\n') ? text : withOptions(text)}</code></pre>
    <button type="button" class="button small" data-copy aria-label="${t('common.copyLabel', { label })}">
      ${t('common.copy')}
    </button>
  </div>`;

/** Renders a command so that its options are not broken at the end of a line. */
const withOptions = (command: string): Html =>
  html`${command
    .split(/((?<= )--[a-z-]{1,30}(?= |$))/)
    .map((part, index) => (index % 2 === 1 ? html`<span class="option">${part}</span>` : html`${part}`))}`;

/** Renders a block of preformatted text that can be scrolled, including with the keyboard. */
export const codeBlock = (label: string, text: string): Html =>
  html`<pre class="block" tabindex="0" aria-label="${label}">${text}</pre>`;

export function tabs(label: string, entries: readonly { text: string; href: string; current: boolean }[]): Html {
  const links = entries.map(
    ({ text, href, current }) => html`<a href="${href}"${current && html` aria-current="page"`}>${text}</a>`,
  );
  return html`<nav class="tabs" aria-label="${label}">${links}</nav>`;
}

/** Renders a list of names and values. */
export const descriptionList = (entries: readonly (readonly [string, Cell])[]): Html => html`
  <dl class="description">
    ${entries.map(
      ([name, value]) => html`<div${isLongWord(value) && html` class="wide"`}><dt>${name}</dt><dd>${value}</dd></div>`,
    )}
  </dl>`;

/** Maximum length of a word that fits into a narrow column, in characters. */
const narrowWord = 18;

/** Whether a value contains an ID, address or URL that would be broken in a narrow column. */
const isLongWord = (value: Cell): boolean =>
  (typeof value === 'object' ? value.markup.replaceAll(/<[^>]*>/g, ' ') : String(value))
    .split(/\s/)
    .some((word) => word.length > narrowWord);

/** Returns a warning that starts with the label of its form field. */
export const fieldWarning = ({ path, message }: ErrorDetail): string =>
  `${fieldName(path.slice(1))}: ${wordProblem(message)}`;

/** Renders a notice about saved values that may be wrong, or nothing if there are no warnings. */
export const warningNotice = (
  warnings: readonly ErrorDetail[],
  textOf: (warning: ErrorDetail) => string = fieldWarning,
): Html =>
  warnings.length === 0
    ? nothing
    : notice('warn', html`<ul>${warnings.map((warning) => html`<li>${textOf(warning)}</li>`)}</ul>`);

/** Data series of a chart. */
type ChartSeries = {
  label: string;
  values: readonly (number | null)[];
  /** Whether the values are drawn dashed, for comparison with the first series. */
  isDashed?: boolean;
  /** Whether the values are parts of the first series that stand out. Missing values leave gaps. */
  isHighlighted?: boolean;
  /** Value of the whole period in the legend. Defaults to the sum, or to the average of rates. */
  summary?: 'sum' | 'average' | 'highest' | 'latest';
  /** Text of the value of the whole period, if it can't be computed from the values. */
  total?: string;
  /** Renders a value of the table as a link to the rows behind it. `index` is the position of its time. */
  rowsOf?: (value: string, index: number) => Html | string;
};

/** Chart data. A null value means that the data point is missing. */
export type ChartData = {
  caption: string;
  /** Heading of the first table column. */
  heading: string;
  /** Start of each day or hour, in epoch milliseconds. Days begin at midnight UTC. */
  times: readonly { text: string; atMs: number }[];
  series: readonly ChartSeries[];
  kind?: 'line' | 'bar';
  /** IANA time zone for hourly data. Absent for daily data. */
  zone?: string;
  /** Number format of the values: counts, rates, or amounts in a currency. */
  style?: 'count' | 'rate' | { currency: string | null };
  format?: (value: number) => string;
};

/** Returns the value of the whole period that the legend shows while the pointer is not on the chart. */
function totalOf(series: ChartSeries, isRate: boolean, format: (value: number) => string): string {
  const { summary = isRate ? 'average' : 'sum', total } = series;
  const values = series.values.filter((value) => value !== null);
  if (total !== undefined) return total;
  if (values.length === 0) return '–';
  const sum = values.reduce((all, value) => all + value, 0);
  if (summary === 'sum') return format(sum);
  if (summary === 'average') return t('layout.average', { value: format(sum / values.length) });
  if (summary === 'highest') return t('layout.highest', { value: format(Math.max(...values)) });
  return t('layout.latest', { value: format(values.at(-1) as number) });
}

/** Renders a chart, which the browser draws, followed by a table with the same figures. */
export function drawnChart({ caption, heading, times, series, format = String, ...options }: ChartData): Html {
  const { kind = 'line', zone = null, style = 'count' } = options;
  const data = [times.map(({ atMs }) => atMs / 1000), ...series.map(({ values }) => values)];
  const drawn = {
    data,
    names: series.map(({ label }) => label),
    dashed: series.map(({ isDashed }) => isDashed === true),
    highlighted: series.map(({ isHighlighted }) => isHighlighted === true),
    totals: series.map((line) => totalOf(line, style === 'rate', format)),
    kind,
    zone,
    style,
  };
  return html`
    <div class="chart" role="img" aria-label="${t('layout.chartLabel', { caption })}"
      data-chart="${JSON.stringify(drawn)}"></div>
    <details class="more">
      <summary>${t('layout.showAsTable')}</summary>
      ${table(
        caption,
        [{ text: heading }, ...series.map(({ label }) => ({ text: label, numeric: true }))],
        times.map(({ text }, index) => [
          text,
          ...series.map(({ values, rowsOf = (text) => text }) => {
            const value = values[index] ?? null;
            return value === null ? '–' : rowsOf(format(value), index);
          }),
        ]),
      )}
    </details>`;
}

/** Width and height of a sparkline, in SVG units. */
const [sparkWidth, sparkHeight] = [56, 22];

/** Renders a sparkline on the server: a small line chart without axes, shown next to its figures. */
export function sparkline(values: readonly number[]): Html {
  const most = Math.max(...values, 0);
  const step = sparkWidth / Math.max(values.length - 1, 1);
  const yOf = (value: number): number => sparkHeight - 2 - (most === 0 ? 0 : (value / most) * (sparkHeight - 4));
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${yOf(value).toFixed(1)}`).join(' ');
  return html`
    <svg class="spark" viewBox="0 0 ${sparkWidth} ${sparkHeight}" width="${sparkWidth}" height="${sparkHeight}"
      aria-hidden="true">
      <polyline points="${points}" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linejoin="round"/>
    </svg>`;
}

export const hiddenField = (name: string, value: string | number): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`;

/** Renders the hidden field with the CSRF token. Every form that changes data must contain it. */
export const csrfField = ({ csrf }: Viewer): Html => hiddenField(csrfFieldName, csrf);

/**
 * Renders the hidden field of a form that creates something. A form with this field creates it only once, even if it is
 * sent twice.
 */
export const onceField = (): Html => hiddenField(onceFieldName, createToken());

type ActionButton = {
  to: string;
  text: string;
  kind?: 'main' | 'quiet' | 'danger' | 'quiet danger' | '';
  small?: boolean;
  /** Text of the confirmation dialog. If it is absent, there is no dialog. */
  confirm?: string;
  /** Whether the response is a file, after which the browser stays on the page. */
  isDownload?: boolean;
  values?: Readonly<Record<string, string | number>>;
  /** Whether the button creates something. See `onceField`. */
  once?: boolean;
};

/** Renders a button that changes data. The button has its own form, so that it works without scripts. */
export function actionButton({ request }: PageContext, action: ActionButton): Html {
  const { to, text, kind = '', small = false, confirm, isDownload = false, values = {}, once = false } = action;
  const confirmation = confirm !== undefined && html` data-confirm="${confirm}" data-confirm-button="${text}"`;
  return html`
    <form method="post" action="${to}" class="inline"${confirmation}${isDownload && html` data-download`}>
      ${csrfField(viewerOf(request))}${once && onceField()}
      ${Object.entries(values).map(([name, value]) => hiddenField(name, value))}
      <button class="button ${kind}${small && ' small'}">${text}</button>
    </form>`;
}

type SaveForm = {
  button?: string;
  /** Appearance of the button. Default: main. */
  kind?: 'main' | 'danger' | '';
  cancel?: string;
  /** URL of the page that contains the form. Set it if validation errors are shown at another URL. */
  page?: string;
  /**
   * Whether the form contains row lists, and its route handles `rowsField` by returning the form with a row added or
   * removed. drafts.js can then restore drafts of the form.
   */
  rows?: boolean;
  /** Whether the form creates something. See `onceField`. */
  once?: boolean;
  /** Additional HTML attributes of the form element. */
  attributes?: Html;
  /** Additional buttons after the save button. */
  extra?: Html;
};

/**
 * Renders a form with its save buttons in a row at the end. If the session expires, entered values are restored later
 * (drafts.js).
 */
export function saveForm({ request }: PageContext, to: string, body: Html, options: SaveForm = {}): Html {
  const { button = t('common.save'), kind = 'main', cancel, page = '', rows = false, once = false } = options;
  const { attributes = nothing, extra = nothing } = options;
  const draftAttributes = html`data-keep="${page}"${rows && html` data-rows`}`;
  return html`
    <form method="post" action="${to}" class="form" novalidate ${draftAttributes}${attributes}>
      ${csrfField(viewerOf(request))}${once && onceField()}${optionalFields(body)}
      ${body}
      <div class="form-end">
        <button class="button ${kind}">${button}</button>
        ${extra}
        ${cancel !== undefined && html`<a class="button quiet" href="${cancel}">${t('common.cancel')}</a>`}
      </div>
    </form>`;
}

/** Renders the form fields as disabled, for users with read-only access. */
export const readOnlyFields = (fields: Html): Html => html`<fieldset class="plain" disabled>${fields}</fieldset>`;

/** URL path of the page with the rows behind a number. */
export const rowsPath = '/rows';

/** Metrics whose rows can be listed instead of those of a rate. */
const rowsOfRate: Readonly<Record<string, string>> = {
  fill_rate: 'filled_sessions',
  ctr: 'clicks',
  cvr: 'conversions',
  rpm: 'revenue',
  reach: 'impressions',
  frequency: 'impressions',
};

export type RowMetricName = string;

/** Returns the metric whose rows a number opens. A rate opens the rows of its numerator. */
export const rowMetricOf = (metric: string): RowMetricName => rowsOfRate[metric] ?? metric;

/** Rows to open: a metric with filters by dimension or attribute, and a range of days or the last minutes. */
export type RowsTarget = {
  metric: string;
  filters?: Readonly<Record<string, readonly string[]>>;
  days?: { from: string; to: string };
  /** Relative range, such as `7d`. */
  range?: string;
  /** Start of a single hour, in ISO 8601. */
  hour?: string;
  minutes?: number;
};

/** Returns the URL of the page with the rows behind a number. */
function rowsUrl(path: (rest: string) => string, target: RowsTarget): string {
  const { metric, filters = {}, days, range, hour, minutes } = target;
  const query = new URLSearchParams(days ?? {});
  if (range !== undefined) query.set('range', range);
  for (const [name, values] of Object.entries(filters)) for (const value of values) query.append(name, value);
  if (hour !== undefined) query.set('hour', hour);
  if (minutes !== undefined) query.set('minutes', String(minutes));
  query.set('metrics', rowMetricOf(metric));
  return `${path(rowsPath)}?${query}`;
}

/** Renders a number as a link to the rows behind it. */
export const rowsLink = (path: (rest: string) => string, number: Html | string, target: RowsTarget): Html =>
  html`<a class="opens-rows" href="${rowsUrl(path, target)}" title="${t('rows.open')}" hx-boost="false">${number}</a>`;
