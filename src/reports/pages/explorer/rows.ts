import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import {
  type Cell,
  type Column,
  descriptionList,
  link,
  noMatches,
  type RowsTarget,
  table,
} from '../../../shell/components.ts';
import { moreFields } from '../../../shell/forms.ts';
import { type DimensionName, dimensionNames } from '../../metrics.ts';
import type { Compared } from '../../query/types.ts';
import { type AnswerRow, fewRows, isByCurrency, type ReportAnswer } from './answer.ts';
import { comparedText, formatted, targetOf, type Writing } from './charts.ts';
import {
  changeOf,
  differenceOf,
  formatMetric,
  hasValue,
  headingOf,
  metricOf,
  type ReportMetric,
  userMetrics,
} from './metrics.ts';
import { dimensionText, type Names, valueDetail } from './names.ts';
import {
  attributeOf,
  canCombine,
  drillDown,
  type ExplorerDimension,
  type ExplorerState,
  explorerDimensions,
  maxAlso,
  sorts,
} from './state.ts';
import { dropdown, entries, type HrefOf } from './toolbar.ts';

/** Renders the tabs for grouping the rows: by time, dimensions, and the publisher's custom attributes. */
export function groupTabs(state: ExplorerState, attributes: readonly string[], { href }: Writing): Html {
  const byOf = (name: string): ExplorerState => ({
    ...state,
    by: name,
    also: canCombine(name) ? state.also.filter((dimension) => dimension !== name) : [],
    all: false,
  });
  const tab = (name: string) => html`
    <a id="by-${name}" href="${href(byOf(name))}"
      ${name === state.by && html` aria-current="page"`}>${dimensionText(name)}</a>`;
  const names = ['time', ...explorerDimensions, ...attributes];
  const tabNames = names.includes(state.by) ? names : [...names, state.by];
  return html`
    <div class="between">
      <nav class="tabs" aria-label="${t('reports.groupBy')}">${tabNames.map(tab)}</nav>
      ${canCombine(state.by) && alsoMenu(state, href)}
    </div>`;
}

/** Renders the menu for adding columns with additional dimensions. */
function alsoMenu(state: ExplorerState, href: HrefOf): Html {
  const isChosen = (name: DimensionName): boolean => state.also.includes(name);
  const list = dimensionNames
    .filter((name) => name !== state.by && (isChosen(name) || state.also.length < maxAlso))
    .map((name) => ({
      text: dimensionText(name),
      href: href({
        ...state,
        also: isChosen(name) ? state.also.filter((dimension) => dimension !== name) : [...state.also, name],
        all: false,
      }),
      current: isChosen(name),
    }));
  const columnNames = state.also.map((name) => dimensionText(name)).join(', ');
  return dropdown(
    'also',
    columnNames === '' ? t('reports.thenBy') : t('reports.thenByThese', { chosen: columnNames }),
    entries(list),
  );
}

/** Renders links that change the sort order of the rows. */
function orderLinks(state: ExplorerState, { periods }: ReportAnswer, { href }: Writing): Html {
  if (state.by === 'time') return nothing;
  const options = sorts.filter((sort) => sort !== 'change' || periods.before !== null);
  const sortLink = (sort: ExplorerState['sort']) => html`
    <a id="sort-${sort}" href="${href({ ...state, sort })}"
      ${sort === state.sort && html` aria-current="true"`}>${t(`reports.sort_${sort}`)}</a>`;
  return html`<p class="order" role="group" aria-label="${t('reports.order')}">${options.map(sortLink)}</p>`;
}

/** Returns the table caption for the dimension that rows are grouped by. */
const byText = (by: string): string =>
  t('reports.byAttribute', { attribute: attributeOf(by) ?? t(`dimensions.lower_${by as ExplorerDimension | 'time'}`) });

/** Renders the table of all rows and metrics. A click on a row drills down. */
export function rowsTable(state: ExplorerState, answer: ReportAnswer, writing: Writing, names: Names): Html {
  const { rows, rowCount } = answer;
  if (rows.length === 0) return noMatches();
  const visibleRows = state.all ? rows : rows.slice(0, fewRows);
  const all = state.metrics.map(metricOf);
  const { money, href, currency, rowsOf } = writing;
  const { total } = answer;
  const hasColumn = (metric: ReportMetric): boolean =>
    rows.some(({ now }) => hasValue(metric, now, state.by)) ||
    (rows.length < rowCount && hasValue(metric, total.now, state.by));
  const metrics = all.filter(hasColumn);
  const cells = ({ value, text, also, now, before }: AnswerRow): Cell[] => [
    nameCell(state, answer, { value, text, detail: valueDetail(names, state.by, value) }, writing),
    ...also.map((part) => part.text),
    ...metrics.map((metric) => figureCell(metric, { now, before }, state.by, targetOf(state, answer, value, also))),
  ];
  const figureCell = (
    metric: ReportMetric,
    compared: Compared,
    by: string,
    target: Omit<RowsTarget, 'metric'> | null,
  ): Html => {
    const value = formatted(metric, compared.now, by, money);
    const change = comparedText(metric, compared, total.before, by);
    return html`
      ${target === null ? value : rowsOf(metric.name, value, target)}
      ${change !== nothing && html`<br>${change}`}`;
  };
  const columns: Column[] = [
    { text: dimensionText(state.by), ...(state.by !== 'time' && { sort: nameSort(state, writing) }) },
    ...state.also.map((name) => ({ text: dimensionText(name) })),
    ...metrics.map((metric) => ({
      text: headingOf(metric, currency),
      hint: metric.definition,
      numeric: true,
      ...(state.by !== 'time' && { sort: metricSort(state, metric.name, writing) }),
    })),
  ];
  return html`
    ${summary(state, answer, writing)}
    ${orderLinks(state, answer, writing)}
    ${isByCurrency(state, rows) && html`<p class="hint">${t('reports.byCurrency')}</p>`}
    ${table(byText(state.by), columns, visibleRows.map(cells), undefined, [
      t('reports.total'),
      ...state.also.map(() => ''),
      ...metrics.map((metric) => figureCell(metric, total, 'time', {})),
    ])}
    ${emptyColumns(all.filter((metric) => !metrics.includes(metric)))}
    ${visibleRows.length < rowCount && showAll(rowCount, href({ ...state, all: true }))}
    ${definitions(metrics)}`;
}

/** Renders the names of the metrics that have no column, because none of the rows has a value. */
const emptyColumns = (metrics: readonly ReportMetric[]): Html =>
  metrics.length === 0
    ? nothing
    : html`<p class="hint">${t('reports.emptyColumns', { metrics: metrics.map(({ text }) => text).join(', ') })}</p>`;

const nameSort = (state: ExplorerState, { href }: Writing): Column['sort'] => ({
  id: 'head-name',
  href: href({ ...state, sort: 'name' }),
  order: state.sort === 'name' ? 'ascending' : null,
});

/** Returns the link that sorts by a column: largest value first or, on the second click, smallest first. */
function metricSort(state: ExplorerState, name: string, { href }: Writing): Column['sort'] {
  const isSorted = name === state.metric && (state.sort === 'most' || state.sort === 'least');
  const sort = isSorted && state.sort === 'most' ? 'least' : 'most';
  return {
    id: `head-${name}`,
    href: href({ ...state, metric: name, sort }),
    order: isSorted ? (state.sort === 'most' ? 'descending' : 'ascending') : null,
  };
}

/** Renders the definition of each metric, with a link to the definitions of all terms. */
const definitions = (metrics: readonly ReportMetric[]): Html =>
  moreFields(
    t('reports.definitions'),
    html`
      ${descriptionList(metrics.map(({ text, definition }) => [text, definition] as const))}
      <p hx-boost="false">${link('/docs/guides/glossary', t('reports.glossary'))}</p>`,
  );

const showAll = (rows: number, href: string): Html =>
  html`<p class="below">${link(href, t('reports.showAllRows', { count: rows }))}</p>`;

function nameCell(
  state: ExplorerState,
  { periods }: ReportAnswer,
  { value, text, detail }: { value: string; text: string; detail: string },
  { href }: Writing,
): Html {
  const below = detail !== '' && html`<br><small>${detail}</small>`;
  if (state.by === 'time') {
    if (periods.interval === 'hour') return html`${text}`;
    const day = { ...state, range: null, from: value, to: value, interval: null, by: 'placement' };
    return html`${link(href(day), text)}`;
  }
  if (state.by === 'advertiser' && value === '0') return html`${text}`;
  return html`${link(href(drillDown(state, value)), text)}${below}`;
}

/** Renders a sentence that names the row which contributed most to the change in an amount. */
function summary(state: ExplorerState, { rows, total }: ReportAnswer, { money, href }: Writing): Html {
  const metric = metricOf(state.metric);
  const isSum =
    (metric.kind === 'count' && !userMetrics.includes(metric.name)) || ['revenue', 'unbilled'].includes(metric.name);
  if (!isSum || !hasValue(metric, total.now, 'time')) return nothing;
  if (state.by === 'time' || state.also.length > 0 || total.before === null || rows.length < 2) return nothing;
  const change = changeOf(metric, total.now, total.before);
  if (change.direction !== 'up' && change.direction !== 'down') return nothing;
  const by = differenceOf(metric, total.now, total.before);
  const sign = Math.sign(by);
  const of = ({ now, before }: AnswerRow): number =>
    before === null ? 0 : differenceOf(metric, now, before) * sign || 0;
  const changes = rows.map(of);
  const largest = changes.reduce((most, value) => Math.max(most, value));
  const most = rows[changes.indexOf(largest)];
  if (most === undefined || largest <= 0) return nothing;
  const amount = (value: number): string => formatMetric(metric, Math.abs(value), money);
  const isLinked = attributeOf(state.by) !== null || !(state.by === 'advertiser' && most.value === '0');
  const name = isLinked ? link(href(drillDown(state, most.value)), most.text) : most.text;
  const values = { metric: metric.text, amount: amount(by), change: change.text, name, part: amount(largest) };
  return html`
    <p class="insight">
      ${sign < 0 ? tHtml('reports.insightDown', values) : tHtml('reports.insightUp', values)}
    </p>`;
}
