import { type Html, html } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { dayMs } from '../platform/lib/time.ts';
import { chart } from '../shell/chart.ts';
import { card, table } from '../shell/components.ts';
import { percent } from '../shell/format.ts';
import { type Metrics, sumOf } from './metrics.ts';
import { type FormatMoney, formatOfView, isRateOfNothing, metricOf } from './pages/explorer/metrics.ts';
import type { ActivityRow } from './query/types.ts';
import { type MetricsView, metricsView } from './view.ts';

const tileMetrics = ['sessions', 'impressions', 'clicks', 'ctr', 'revenue', 'fill_rate'].map(metricOf);

const tile = (text: string, value: string, below?: Html): Html =>
  html`<div class="stat"><span>${text}</span><strong>${value}</strong>${below}</div>`;

export function metricTiles(total: MetricsView, money: FormatMoney): Html {
  const tiles = tileMetrics.map((metric) => tile(metric.text, formatOfView(metric, total, money)));
  return html`<div class="stats">${tiles}</div>`;
}

type TodayAndLastWeek = { today: MetricsView; lastWeek: MetricsView };

export function todayTiles({ today, lastWeek }: TodayAndLastWeek, money: FormatMoney): Html {
  const tiles = tileMetrics.map((metric) => {
    const { name, text, kind } = metric;
    const value = formatOfView(metric, today, money);
    if (isRateOfNothing(name, today)) return tile(text, value);
    return tile(text, value, change(today[name] ?? 0, lastWeek[name] ?? 0, kind === 'rate'));
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
    return [nameOf(value), ...tileMetrics.map((metric) => formatOfView(metric, total, money))];
  });
  const columns = [{ text: groupTitle }, ...tileMetrics.map(({ text }) => ({ text, numeric: true }))];
  return html`<h2 class="section">${title}</h2>${table(title, columns, cells)}`;
}
