import { type Html, html } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { dayMs } from '../platform/lib/time.ts';
import { chart } from '../shell/chart.ts';
import { card, table } from '../shell/components.ts';
import { count, percent } from '../shell/format.ts';
import { type Metrics, sumOf } from './metrics.ts';
import type { ActivityRow } from './query/types.ts';
import { type MetricsView, metricsView } from './view.ts';

export type FormatMoney = (value: number) => string;

/** `rateOf`: what a rate is a share of; without any there is none. */
type Metric = { name: string; text: string; format: (value: number) => string; rateOf?: string };

const metrics = (money: FormatMoney): Metric[] => [
  { name: 'sessions', text: t('metrics.sessions'), format: count },
  { name: 'impressions', text: t('metrics.impressions'), format: count },
  { name: 'clicks', text: t('metrics.clicks'), format: count },
  { name: 'ctr', text: t('metrics.ctr'), format: percent, rateOf: 'impressions' },
  { name: 'revenue', text: t('metrics.revenue'), format: money },
  { name: 'fill_rate', text: t('metrics.fill_rate'), format: percent, rateOf: 'sessions' },
];

const shown = ({ name, format, rateOf }: Metric, total: MetricsView): string =>
  rateOf !== undefined && total[rateOf] === 0 ? '–' : format(total[name] ?? 0);

const tile = (text: string, value: string, below?: Html): Html =>
  html`<div class="stat"><span>${text}</span><strong>${value}</strong>${below}</div>`;

export function metricTiles(total: MetricsView, money: FormatMoney): Html {
  const tiles = metrics(money).map((metric) => tile(metric.text, shown(metric, total)));
  return html`<div class="stats">${tiles}</div>`;
}

type TodayAndLastWeek = { today: MetricsView; lastWeek: MetricsView };

export function todayTiles({ today, lastWeek }: TodayAndLastWeek, money: FormatMoney): Html {
  const tiles = metrics(money).map((metric) => {
    const { name, text, rateOf } = metric;
    return tile(text, shown(metric, today), change(today[name] ?? 0, lastWeek[name] ?? 0, rateOf !== undefined));
  });
  return html`
    <h2 class="section">${t('reports.todayVsLastWeek')}</h2>
    <div class="stats">${tiles}</div>`;
}

/** Smaller changes count as none. */
const minChange = 0.0005;

/** Rates change by percentage points, other metrics by a share. */
function change(value: number, previous: number, isRate: boolean): Html {
  if (previous === 0) return html`<small>${t('reports.noneLastWeek')}</small>`;
  const by = isRate ? value - previous : value / previous - 1;
  if (Math.abs(by) < minChange) return html`<small>${t('reports.unchanged')}</small>`;
  const text = isRate ? t('reports.points', { points: Math.abs(by * 100) }) : percent(Math.abs(by));
  const direction =
    by > 0 ? html`<span class="sr">${t('reports.up')}</span> ▲` : html`<span class="sr">${t('reports.down')}</span> ▼`;
  return html`<small class="${by > 0 ? 'up' : 'down'}">${direction} ${text}</small>`;
}

/** `from`: the first of the days, as yyyy-mm-dd. */
export function charts(rows: readonly ActivityRow[], from: string, days: number): Html {
  const byDay = withEmptyDays(rows, from, days);
  const activity = chart({
    caption: t('reports.activityByDay'),
    rows: byDay,
    series: [
      { label: t('metrics.sessions'), of: (m) => m.sessions },
      { label: t('metrics.impressions'), of: (m) => m.impressions },
      { label: t('metrics.clicks'), of: (m) => m.clicks },
    ],
  });
  const revenue = chart({
    caption: t('reports.revenueByDay'),
    rows: byDay,
    series: [{ label: t('metrics.revenue'), of: (m) => m.revenue }],
  });
  return html`${card(t('reports.activity'), activity)}${card(t('metrics.revenue'), revenue)}`;
}

/** A day without activity has no row; in a chart it is zero. */
function withEmptyDays(
  rows: readonly ActivityRow[],
  from: string,
  days: number,
): { time: string; metrics: MetricsView }[] {
  const byDay = new Map(rows.map(({ time, metrics }) => [time, metricsView(metrics)]));
  const none = metricsView(sumOf([]));
  const startMs = Date.parse(`${from}T00:00:00Z`);
  return Array.from({ length: days }, (_, index) => {
    const time = new Date(startMs + index * dayMs).toISOString().slice(0, 10);
    return { time, metrics: byDay.get(time) ?? none };
  });
}

/** Rows of a breakdown (count). */
export const maxGroups = 20;

/** A table of the groups with most impressions. */
export function breakdown(
  title: string,
  groupTitle: string,
  groups: readonly { value: string | number; metrics: Metrics }[],
  nameOf: (id: string | number) => Html | string,
  money: FormatMoney,
): Html {
  const cells = groups.map(({ value, metrics: sums }) => {
    const total = metricsView(sums);
    return [nameOf(value), ...metrics(money).map((metric) => shown(metric, total))];
  });
  const columns = [{ text: groupTitle }, ...metrics(money).map(({ text }) => ({ text, numeric: true }))];
  return html`<h2 class="section">${title}</h2>${table(title, columns, cells)}`;
}
