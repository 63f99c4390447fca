import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { type Cell, link, noMatches, table } from '../../../shell/components.ts';
import { viewValue } from '../../view.ts';
import type { Answer, AnswerRow } from './answer.ts';
import { changeText, type Writing } from './charts.ts';
import { changeOf, differenceOf, formatMetric, metricOf } from './metrics.ts';
import { dimensionText, type Names, valueDetail } from './names.ts';
import { attributeOf, drillDown, type ExplorerDimension, type ExplorerState, explorerDimensions } from './state.ts';

/** Rows shown before all are asked for (count). */
const fewRows = 50;

/** What the report is grouped by, as tabs: time, the dimensions, and the publisher's custom attributes. */
export function groupTabs(state: ExplorerState, attributes: readonly string[], { href }: Writing): Html {
  const tab = (name: string) => html`
    <a id="by-${name}" href="${href({ ...state, by: name, all: false })}"
      ${name === state.by && html` aria-current="page"`}>${dimensionText(name)}</a>`;
  const names = ['time', ...explorerDimensions, ...attributes];
  const shown = names.includes(state.by) ? names : [...names, state.by];
  return html`<nav class="tabs" aria-label="${t('reports.groupBy')}">${shown.map(tab)}</nav>`;
}

/** The order of the rows, which a click changes. */
function orderLinks(state: ExplorerState, { periods }: Answer, { href }: Writing): Html {
  if (state.by === 'time') return nothing;
  const sorts = (['most', 'change', 'name'] as const).filter((sort) => sort !== 'change' || periods.before !== null);
  const one = (sort: ExplorerState['sort']) => html`
    <a id="sort-${sort}" href="${href({ ...state, sort })}"
      ${sort === state.sort && html` aria-current="true"`}>${t(`reports.sort_${sort}`)}</a>`;
  return html`<p class="order" role="group" aria-label="${t('reports.order')}">${sorts.map(one)}</p>`;
}

/** Caption of the table. */
const byText = (by: string): string =>
  t('reports.byAttribute', { attribute: attributeOf(by) ?? t(`dimensions.lower_${by as ExplorerDimension | 'time'}`) });

/** The rows with all metrics; a click on one opens it. */
export function rowsTable(state: ExplorerState, answer: Answer, writing: Writing, names: Names): Html {
  const { rows } = answer;
  if (rows.length === 0) return noMatches();
  const shown = state.all ? rows : rows.slice(0, fewRows);
  const metrics = state.metrics.map(metricOf);
  const { money, href } = writing;
  const cells = ({ value, text, now, before }: AnswerRow): Cell[] => [
    nameCell(state, answer, { value, text, detail: valueDetail(names, state.by, value) }, writing),
    ...metrics.map(
      (metric) => html`
        ${formatMetric(metric, viewValue(metric.name, now), money)}
        ${before !== null && html`<br>${changeText(metric, now, before)}`}`,
    ),
  ];
  const columns = [{ text: dimensionText(state.by) }, ...metrics.map(({ text }) => ({ text, numeric: true }))];
  return html`
    ${summary(state, answer, writing)}
    ${orderLinks(state, answer, writing)}
    ${table(byText(state.by), columns, shown.map(cells))}
    ${shown.length < rows.length && showAll(rows.length, href({ ...state, all: true }))}`;
}

const showAll = (rows: number, href: string): Html =>
  html`<p class="below">${link(href, t('reports.showAllRows', { count: rows }))}</p>`;

function nameCell(
  state: ExplorerState,
  { periods }: Answer,
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

/** Which value the change of an amount is mostly due to, in a sentence. */
function summary(state: ExplorerState, { rows, total }: Answer, { money, href }: Writing): Html {
  const metric = metricOf(state.metric);
  const isSum = metric.kind === 'count' || metric.name === 'revenue';
  if (!isSum || state.by === 'time' || total.before === null || rows.length < 2) return nothing;
  const change = changeOf(metric, total.now, total.before);
  if (change.direction !== 'up' && change.direction !== 'down') return nothing;
  const by = differenceOf(metric, total.now, total.before);
  const sign = Math.sign(by);
  const of = ({ now, before }: AnswerRow): number => (before === null ? 0 : differenceOf(metric, now, before) * sign);
  const most = rows.reduce((best, row) => (of(row) > of(best) ? row : best));
  if (of(most) <= 0) return nothing;
  const amount = (value: number): string => formatMetric(metric, Math.abs(value), money);
  const isLinked = attributeOf(state.by) !== null || !(state.by === 'advertiser' && most.value === '0');
  const name = isLinked ? link(href(drillDown(state, most.value)), most.text) : most.text;
  const values = { metric: metric.text, amount: amount(by), change: change.text, name, part: amount(of(most)) };
  return html`
    <p class="insight">
      ${sign < 0 ? tHtml('reports.insightDown', values) : tHtml('reports.insightUp', values)}
    </p>`;
}
