import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { drawnChart } from '../../../shell/chart.ts';
import { card } from '../../../shell/components.ts';
import type { Metrics } from '../../metrics.ts';
import { viewValue } from '../../view.ts';
import type { Answer, AnswerRow } from './answer.ts';
import { changeOf, type FormatMoney, formatMetric, hasValue, metricOf, type ReportMetric } from './metrics.ts';
import { rangeText } from './periods.ts';
import type { ExplorerState } from './state.ts';
import { comparisonOf, type HrefOf } from './toolbar.ts';

export type Writing = { money: FormatMoney; currency: string | null; timeZone: string; href: HrefOf };

/** Every metric's total and change; a click draws it. */
export function metricTiles(state: ExplorerState, { total }: Answer, { money, href }: Writing): Html {
  const tile = (metric: ReportMetric) => html`
    <a class="stat" id="metric-${metric.name}" title="${metric.definition}"
      href="${href({ ...state, metric: metric.name })}"
      ${metric.name === state.metric && html` aria-current="true"`}>
      <span>${metric.text}</span>
      <strong>${formatted(metric, total.now, 'time', money)}</strong>
      ${total.before !== null && hasValue(metric, total.now, 'time') && changeText(metric, total.now, total.before)}
    </a>`;
  return html`<div class="stats">${state.metrics.map((name) => tile(metricOf(name)))}</div>`;
}

/** A value as it is shown, and what says nothing as a dash. */
export const formatted = (metric: ReportMetric, metrics: Metrics, by: string, money: FormatMoney): string =>
  hasValue(metric, metrics, by) ? formatMetric(metric, viewValue(metric.name, metrics), money) : '–';

/** `▼ 12.3%`, in the colour of good or bad news. */
export function changeText(metric: ReportMetric, now: Metrics, before: Metrics): Html {
  const { direction, text } = changeOf(metric, now, before);
  if (direction === 'same' || direction === 'new') return html`<small>${text}</small>`;
  const word =
    direction === 'up'
      ? html`<span class="sr">${t('reports.up')}</span>▲`
      : html`<span class="sr">${t('reports.down')}</span>▼`;
  const isGood = (direction === 'up') !== (metric.isBad === true);
  return html`<small class="${isGood ? 'up' : 'down'}">${word} ${text}</small>`;
}

/** The chart of one metric: over time, or of the values with most as bars. */
export function chartCard(state: ExplorerState, answer: Answer, writing: Writing): Html {
  if (state.view === 'table') return nothing;
  const metric = metricOf(state.metric);
  const isOfValues = state.view === 'bar' && state.by !== 'time';
  return card(metric.text, isOfValues ? bars(state, answer, writing) : timeChart(state, answer, writing), {
    lead: leadOf(state, answer),
  });
}

function leadOf(state: ExplorerState, { periods }: Answer): string {
  const days = rangeText(periods.days);
  if (periods.before === null || state.compare === 'none') return days;
  return t(`reports.days_${comparisonOf(state.compare, periods)}`, { days, before: rangeText(periods.before) });
}

function timeChart(state: ExplorerState, { slots, periods }: Answer, { money, currency, timeZone }: Writing): Html {
  const metric = metricOf(state.metric);
  const amountOf = (metrics: Metrics | null): number | null =>
    metrics && (hasValue(metric, metrics, 'time') ? viewValue(metric.name, metrics) : null);
  const values = slots.map(({ now }) => amountOf(now));
  const before = slots.map((slot) => amountOf(slot.before));
  const isCompared = periods.before !== null;
  return drawnChart({
    caption: t(`reports.metricBy_${periods.interval}`, { metric: metric.text }),
    heading: t(`reports.${periods.interval}`),
    times: slots,
    series: [
      { label: metric.text, values },
      ...(isCompared ? [{ label: t('reports.before'), values: before, isDashed: true }] : []),
    ],
    kind: state.view === 'bar' ? 'bar' : 'line',
    ...(periods.interval === 'hour' && { zone: timeZone }),
    style: metric.kind === 'money' ? { currency } : metric.kind,
    format: (value) => formatMetric(metric, value, money),
  });
}

const maxBars = 12;

/** Bars of the values with most, drawn by the server, each above that of the range before. */
function bars(state: ExplorerState, { rows }: Answer, { money }: Writing): Html {
  const metric = metricOf(state.metric);
  const of = (metrics: Metrics | null): number =>
    metrics === null || !hasValue(metric, metrics, state.by) ? 0 : Math.max(viewValue(metric.name, metrics), 0);
  const shown = [...rows].sort((a, b) => of(b.now) - of(a.now)).slice(0, maxBars);
  const most = Math.max(...shown.flatMap(({ now, before }) => [of(now), of(before)]), Number.MIN_VALUE);
  const rect = (value: number, kind: string) =>
    html`<rect class="${kind}" width="${((value / most) * 100).toFixed(2)}%" height="100%" rx="3"/>`;
  const bar = ({ text, also, now, before }: AnswerRow) => html`
    <li>
      <span>${[text, ...also.map((one) => one.text)].join(' · ')}</span>
      <span>
        <svg aria-hidden="true">${rect(of(now), 'now')}</svg>
        ${before !== null && html`<svg class="thin" aria-hidden="true">${rect(of(before), 'before')}</svg>`}
      </span>
      <span class="numeric">
        ${formatted(metric, now, state.by, money)}
        ${before !== null && hasValue(metric, now, state.by) && changeText(metric, now, before)}
      </span>
    </li>`;
  if (shown.length === 0) return html`<p class="hint">${t('reports.noActivityHere')}</p>`;
  return html`<ul class="bars" aria-label="${metric.text}">${shown.map(bar)}</ul>`;
}
