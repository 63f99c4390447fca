import { type Html, html } from '../../../platform/http/html.ts';
import { dayMs } from '../../../platform/lib/time.ts';
import { type Metrics, sumOf } from '../../../reports/metrics.ts';
import type { ActivityRow } from '../../../reports/query/types.ts';
import { type MetricsView, metricsView } from '../../../reports/query/view.ts';
import { chart } from '../../shell/chart.ts';
import { card, table } from '../../shell/components.ts';
import { count, percent } from '../../shell/format.ts';

export type FormatMoney = (value: number) => string;

type Metric = { name: string; text: string; format: (value: number) => string; isRate: boolean };

const metrics = (money: FormatMoney): Metric[] => [
  { name: 'sessions', text: 'Sessions', format: count, isRate: false },
  { name: 'impressions', text: 'Impressions', format: count, isRate: false },
  { name: 'clicks', text: 'Clicks', format: count, isRate: false },
  { name: 'ctr', text: 'CTR', format: percent, isRate: true },
  { name: 'revenue', text: 'Revenue', format: money, isRate: false },
  { name: 'fill_rate', text: 'Fill rate', format: percent, isRate: true },
];

const tile = (text: string, value: string, below?: Html): Html =>
  html`<div class="stat"><span>${text}</span><strong>${value}</strong>${below}</div>`;

export function metricTiles(total: MetricsView, money: FormatMoney): Html {
  const tiles = metrics(money).map(({ name, text, format }) => tile(text, format(total[name] ?? 0)));
  return html`<div class="stats">${tiles}</div>`;
}

type TodayAndLastWeek = { today: MetricsView; lastWeek: MetricsView };

export function todayTiles({ today, lastWeek }: TodayAndLastWeek, money: FormatMoney): Html {
  const tiles = metrics(money).map(({ name, text, format, isRate }) => {
    const [value, previous] = [today[name] ?? 0, lastWeek[name] ?? 0];
    return tile(text, format(value), change(value, previous, isRate));
  });
  return html`
    <h2 class="section">Today vs. same day last week</h2>
    <div class="stats">${tiles}</div>`;
}

/** Smaller changes count as none. */
const minChange = 0.0005;

/** Rates change by percentage points, other metrics by a share. */
function change(value: number, previous: number, isRate: boolean): Html {
  if (previous === 0) return html`<small>none last week</small>`;
  const by = isRate ? value - previous : value / previous - 1;
  if (Math.abs(by) < minChange) return html`<small>unchanged</small>`;
  const text = isRate ? `${Math.abs(by * 100).toFixed(1)} points` : percent(Math.abs(by));
  const direction = by > 0 ? html`<span class="sr">up</span> ▲` : html`<span class="sr">down</span> ▼`;
  return html`<small class="${by > 0 ? 'up' : 'down'}">${direction} ${text}</small>`;
}

/** `from`: the first of the days, as yyyy-mm-dd. */
export function charts(rows: readonly ActivityRow[], from: string, days: number): Html {
  const byDay = withEmptyDays(rows, from, days);
  const activity = chart({
    caption: 'Activity by day',
    rows: byDay,
    series: [
      { label: 'Sessions', of: (m) => m.sessions },
      { label: 'Impressions', of: (m) => m.impressions },
      { label: 'Clicks', of: (m) => m.clicks },
    ],
  });
  const revenue = chart({
    caption: 'Revenue by day',
    rows: byDay,
    series: [{ label: 'Revenue', of: (m) => m.revenue }],
  });
  return html`${card('Activity', activity)}${card('Revenue', revenue)}`;
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
    return [nameOf(value), ...metrics(money).map(({ name, format }) => format(total[name] ?? 0))];
  });
  const columns = [{ text: groupTitle }, ...metrics(money).map(({ text }) => ({ text, numeric: true }))];
  return html`<h2 class="section">${title}</h2>${table(title, columns, cells)}`;
}
