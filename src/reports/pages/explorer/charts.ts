import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { card, drawnChart, linkButton, type RowsTarget } from '../../../shell/components.ts';
import { moneyFormat } from '../../../shell/format.ts';
import { currenciesOf, inCurrency, type Metrics } from '../../metrics.ts';
import type { Compared } from '../../query/types.ts';
import { otherValue } from '../../rollup/statement.ts';
import { viewValue } from '../../view.ts';
import { type AnswerRow, maxBars, periodsIn, type ReportAnswer } from './answer.ts';
import {
  changeOf,
  type FormatMoney,
  formatMetric,
  hasValue,
  isComparable,
  metricOf,
  type ReportMetric,
  userMetrics,
} from './metrics.ts';
import { type Periods, rangeText } from './periods.ts';
import { attributeOf, type ExplorerState } from './state.ts';
import { comparisonOf, type HrefOf } from './toolbar.ts';

export type Writing = {
  money: FormatMoney;
  currency: string | null;
  timeZone: string;
  href: HrefOf;
  /** Renders a value as a link to the rows behind it. `target` replaces parts of the report's range and filters. */
  rowsOf: (metric: string, value: string, target?: Omit<RowsTarget, 'metric'>) => Html | string;
};

/**
 * Renders a tile for each metric with its total and change. A click on a tile shows the metric's chart, and a click on
 * the number opens its rows.
 */
export function metricTiles(state: ExplorerState, { total }: ReportAnswer, { money, href, rowsOf }: Writing): Html {
  const tile = (metric: ReportMetric) => html`
    <div class="stat" id="metric-${metric.name}" title="${metric.definition}">
      <a class="whole" id="chart-${metric.name}" href="${href({ ...state, metric: metric.name })}"
        ${metric.name === state.metric && html` aria-current="true"`}><span>${metric.text}</span></a>
      <strong>${rowsOf(metric.name, formatted(metric, total.now, 'time', money))}</strong>
      ${comparedText(metric, total, total.before, 'time')}
    </div>`;
  return html`<div class="stats">${state.metrics.map((name) => tile(metricOf(name)))}</div>`;
}

/** Formats a value, or returns a dash if it is undefined. Amounts in several currencies are listed side by side. */
export function formatted(metric: ReportMetric, metrics: Metrics, by: string, money: FormatMoney): string {
  const currencies = metric.kind === 'money' ? currenciesOf([metrics]) : [];
  const textOf = (sums: Metrics, format: FormatMoney): string =>
    hasValue(metric, sums, by) ? formatMetric(metric, viewValue(metric.name, sums), format) : '–';
  if (currencies.length === 0) return textOf(metrics, money);
  return currencies.map((currency) => textOf(inCurrency(metrics, currency), moneyFormat(currency))).join(' + ');
}

/** Formats the change of a value, or returns nothing if the value or its previous value is undefined. */
export const comparedText = (
  metric: ReportMetric,
  { now, before }: Compared,
  totalBefore: Metrics | null,
  by: string,
): Html =>
  before !== null && isComparable(metric, totalBefore) && hasValue(metric, now, by) && hasUsersOf(metric, before)
    ? changeText(metric, now, before)
    : nothing;

/** Whether a metric has values. Metrics of unique users have none if users were not counted. */
const hasUsersOf = ({ name }: ReportMetric, { users }: Metrics): boolean =>
  !userMetrics.includes(name) || users !== undefined;

/** Formats a change such as `▼ 12.3%`, coloured as good or bad. */
function changeText(metric: ReportMetric, now: Metrics, before: Metrics): Html {
  const { direction, text } = changeOf(metric, now, before);
  if (direction === 'same' || direction === 'new') return html`<small>${text}</small>`;
  const word =
    direction === 'up'
      ? html`<span class="sr">${t('reports.up')}</span>▲`
      : html`<span class="sr">${t('reports.down')}</span>▼`;
  const isGood = (direction === 'up') !== (metric.isBad === true);
  return html`<small class="${isGood ? 'up' : 'down'}">${word} ${text}</small>`;
}

/** Renders the chart of a metric, either over time or as bars of the largest values. */
export function chartCard(state: ExplorerState, answer: ReportAnswer, writing: Writing): Html {
  if (state.view === 'table') return nothing;
  const metric = metricOf(state.metric);
  const isOfValues = state.view === 'bar' && state.by !== 'time';
  return card(metric.text, isOfValues ? bars(state, answer, writing) : timeChart(state, answer, writing), {
    lead: leadOf(state, answer),
  });
}

function leadOf(state: ExplorerState, { periods }: ReportAnswer): string {
  const days = rangeText(periods.days);
  if (periods.before === null || state.compare === 'none') return days;
  return t(`reports.days_${comparisonOf(state.compare, periods)}`, { days, before: rangeText(periods.before) });
}

/**
 * Returns the range and filters of the rows behind the numbers in a table row. Returns null for values that rollups
 * combine and for removed advertisers, whose rows cannot be listed.
 */
export function targetOf(
  { by }: ExplorerState,
  { periods }: ReportAnswer,
  value: string,
  also: AnswerRow['also'],
): Omit<RowsTarget, 'metric'> | null {
  if (by === 'time') return timeTarget(periods, value);
  if ((by === 'advertiser' && value === '0') || (attributeOf(by) !== null && value === otherValue)) return null;
  return { filters: Object.fromEntries([[by, [value]], ...also.map((part) => [part.name, [part.value]])]) };
}

/** Returns the range of the rows of one day or hour. */
const timeTarget = ({ interval }: Periods, value: string): Omit<RowsTarget, 'metric'> =>
  interval === 'hour' ? { hour: value } : { days: { from: value, to: value } };

function timeChart(
  state: ExplorerState,
  { slots, periods, total }: ReportAnswer,
  { currency, timeZone, href, rowsOf }: Writing,
): Html {
  const metric = metricOf(state.metric);
  const amountOf = (metrics: Metrics | null): number | null =>
    metrics && (hasValue(metric, metrics, 'time') ? viewValue(metric.name, metrics) : null);
  const isCompared = periods.before !== null;
  const currencies = metric.kind === 'money' ? currenciesOf(slots.flatMap(({ now, before }) => [now, before])) : [];
  // Draw one line per currency, because amounts in different currencies are not added up.
  const lines = currencies.length > 1 ? currencies : [currencies[0] ?? null];
  const series = lines.flatMap((currency) => {
    const only = (metrics: Metrics | null): Metrics | null =>
      metrics !== null && currency !== null ? inCurrency(metrics, currency) : metrics;
    const labelOf = (label: string): string => (lines.length > 1 ? `${label} (${currency})` : label);
    const totalOf = (metrics: Metrics): string =>
      formatted(metric, only(metrics) ?? metrics, 'time', moneyFormat(currency));
    return [
      {
        label: labelOf(metric.text),
        values: slots.map(({ now }) => amountOf(only(now))),
        total: totalOf(total.now),
        rowsOf: (text: string, index: number) =>
          rowsOf(metric.name, text, timeTarget(periods, slots[index]?.value ?? '')),
      },
      ...(isCompared
        ? [
            {
              label: labelOf(t('reports.before')),
              values: slots.map((slot) => amountOf(only(slot.before))),
              isDashed: true,
              rowsOf: (text: string, index: number) => {
                const { beforeValue = null } = slots[index] ?? {};
                return beforeValue === null ? text : rowsOf(metric.name, text, timeTarget(periods, beforeValue));
              },
              ...(total.before !== null && { total: totalOf(total.before) }),
            },
          ]
        : []),
    ];
  });
  if (series.every(({ values }) => values.every((value) => value === null || value === 0)))
    return noActivity(state, href);
  const drawn = lines.length > 1 ? null : (lines[0] ?? currency);
  return drawnChart({
    caption: t(`reports.metricBy_${periods.interval}`, { metric: metric.text }),
    heading: t(`reports.${periods.interval}`),
    times: slots,
    series,
    kind: state.view === 'bar' ? 'bar' : 'line',
    ...(periods.interval === 'hour' && { zone: timeZone }),
    style: metric.kind === 'money' ? { currency: drawn } : metric.kind === 'rate' ? 'rate' : 'count',
    format: (value) => formatMetric(metric, value, moneyFormat(drawn)),
  });
}

/** Renders the text for a chart without values, with the action that most likely shows some. */
function noActivity(state: ExplorerState, href: HrefOf): Html {
  const isFiltered = Object.keys(state.filters).length > 0;
  const wider = isFiltered ? { ...state, filters: {} } : { ...state, range: '30d' as const, from: '', to: '' };
  return html`
    <p class="hint">${t('reports.noActivityHere')}</p>
    ${
      (isFiltered || state.range !== '30d') &&
      linkButton(href(wider), t(isFiltered ? 'reports.withoutFilters' : 'reports.last30Days'))
    }`;
}

/** Renders bars of the largest values on the server, each above the bar of the comparison period. */
function bars(state: ExplorerState, answer: ReportAnswer, { money, href, rowsOf }: Writing): Html {
  const { rows, total } = answer;
  const metric = metricOf(state.metric);
  const of = (metrics: Metrics | null): number =>
    metrics === null || !hasValue(metric, metrics, state.by) ? 0 : Math.max(viewValue(metric.name, metrics), 0);
  // Keep the bars of each currency together, and scale them to the largest amount in that currency.
  const currencies = metric.kind === 'money' ? currenciesOf(periodsIn(rows)) : [];
  const groups = currencies.length < 2 ? [[...rows]] : currencies.map((currency) => rowsIn(rows, currency));
  const topGroups = groups.map((group) => group.sort((a, b) => of(b.now) - of(a.now)).slice(0, maxBars));
  const rect = (value: number, kind: string, most: number) =>
    html`<rect class="${kind}" width="${((value / most) * 100).toFixed(2)}%" height="100%" rx="3"/>`;
  const figureOf = (row: AnswerRow): Html | string => {
    const value = formatted(metric, row.now, state.by, money);
    const target = targetOf(state, answer, row.value, row.also);
    return target === null ? value : rowsOf(metric.name, value, target);
  };
  const bar = (row: AnswerRow, most: number) => html`
    <li>
      <span>${[row.text, ...row.also.map((part) => part.text)].join(' · ')}</span>
      <span>
        <svg aria-hidden="true">${rect(of(row.now), 'now', most)}</svg>
        ${row.before && html`<svg class="thin" aria-hidden="true">${rect(of(row.before), 'before', most)}</svg>`}
      </span>
      <span class="numeric">
        ${figureOf(row)}
        ${comparedText(metric, row, total.before, state.by)}
      </span>
    </li>`;
  if (topGroups.every((group) => group.length === 0)) return noActivity(state, href);
  const list = (group: readonly AnswerRow[]): Html => {
    const most = Math.max(...group.flatMap(({ now, before }) => [of(now), of(before)]), Number.MIN_VALUE);
    return html`<ul class="bars" aria-label="${metric.text}">${group.map((row) => bar(row, most))}</ul>`;
  };
  return html`${topGroups.map(list)}`;
}

/** Returns the rows with amounts in a currency. Amounts in other currencies are removed. */
const rowsIn = (rows: readonly AnswerRow[], currency: string): AnswerRow[] =>
  rows
    .filter(({ now, before }) => currenciesOf([now, before]).includes(currency))
    .map((row) => ({
      ...row,
      now: inCurrency(row.now, currency),
      before: row.before === null ? null : inCurrency(row.before, currency),
    }));
