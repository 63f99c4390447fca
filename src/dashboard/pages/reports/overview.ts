import type { Publisher } from '../../../catalog/snapshot/types.ts';
import { createFailFast } from '../../../platform/db/fail-fast.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { offsetMs } from '../../../platform/lib/time-zone.ts';
import type { App } from '../../../platform/ports.ts';
import { queryLiveMinutes } from '../../../reports/query/live.ts';
import { sumOf } from '../../../reports/query/metrics.ts';
import type { ActivityRow } from '../../../reports/query/query.ts';
import { createReportService, currencyOf } from '../../../reports/query/service.ts';
import { type MetricsView, metricsView } from '../../../reports/query/view.ts';
import { chart } from '../../shell/chart.ts';
import { card, emptyState, linkButton, table, tabs } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { count, percent } from '../../shell/format.ts';
import { queryText } from '../../shell/management.ts';
import { publisherPages, type Tools } from '../../shell/pages.ts';

const dayMs = 86_400_000;
const ranges = ['7', '14', '30'] as const;
const liveMinutes = 30;

type Money = (value: number) => string;

/** What happened lately: live, today against the same day last week, over time, and by placement and offer. */
export function overviewPages(app: App, tools: Tools): void {
  const { deps } = tools;
  const { now, pool, catalog } = deps;
  const pages = publisherPages(app, tools);
  const reports = createReportService(deps);
  const guarded = createFailFast(deps.dbHealth);

  const dayOf = ({ timeZone }: Publisher, atMs: number): string =>
    new Date(atMs + offsetMs(timeZone, atMs)).toISOString().slice(0, 10);

  function moneyOf(publisher: Publisher): Money {
    const currency = currencyOf(catalog.current(), publisher.id);
    const format = new Intl.NumberFormat(
      'en-GB',
      currency === null ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { style: 'currency', currency },
    );
    return (value) => format.format(value);
  }

  pages.get('/overview', 'analyst', async (context) => {
    const { publisher, path } = context;
    const days = Number(ranges.find((range) => range === queryText(context, 'days')) ?? '14');
    const to = dayOf(publisher, now());
    const from = dayOf(publisher, now() - (days - 1) * dayMs);
    const [overTime, byPlacement, byOffer, live] = await Promise.all([
      reports.activity(publisher, { from, to }),
      reports.activity(publisher, { from, to, group_by: 'placement' }),
      reports.activity(publisher, { from, to, group_by: 'offer' }),
      liveCounters(context),
    ]);
    const money = moneyOf(publisher);
    const total = metricsView(sumOf(overTime.rows));
    const picker = tabs(
      'Range',
      ranges.map((range) => ({
        text: `${range} days`,
        href: `${path('/overview')}?days=${range}`,
        current: Number(range) === days,
      })),
    );
    return {
      title: 'Overview',
      lead: `${publisher.name}, times in ${publisher.timeZone}.`,
      nav: 'overview',
      assets: ['uplot.css', 'language.js', 'uplot.js', 'charts.js'],
      body:
        total.sessions === 0
          ? html`${live}${emptyState('overview', 'No activity yet', 'Sessions, impressions, clicks and revenue appear here with the first calls. Paste a snippet and watch them arrive.', linkButton(path('/integration'), 'Integrate', 'main'))}`
          : html`${live}${await todayTiles(publisher, money)}
${picker}
${tiles(total, money)}
${card(
  'Over time',
  chart({
    caption: 'Activity by day',
    rows: withEmptyDays(overTime.rows, from, days),
    series: [
      { label: 'Sessions', of: (m) => m.sessions },
      { label: 'Impressions', of: (m) => m.impressions },
      { label: 'Clicks', of: (m) => m.clicks },
    ],
  }),
)}
${card('Revenue', chart({ caption: 'Revenue by day', rows: withEmptyDays(overTime.rows, from, days), series: [{ label: 'Revenue', of: (m) => m.revenue }] }))}
${breakdown('By placement', byPlacement.rows, (id) => String(id), money)}
${breakdown('By offer', byOffer.rows, (id) => offerName(Number(id), path), money)}`,
    };
  });

  pages.get('/overview/live', 'analyst', async (context) => ({ fragment: await liveCounters(context) }));

  async function liveCounters({ publisher, path }: PublisherContext): Promise<Html> {
    const minutes = await guarded(() =>
      queryLiveMinutes(pool, { publisherId: publisher.id, minutes: liveMinutes, nowMs: now() }),
    );
    const sum = (name: 'sessions' | 'impressions' | 'clicks'): number =>
      minutes.reduce((total, { metrics }) => total + metrics[name], 0);
    return html`<p class="live" hx-get="${path('/overview/live')}" hx-trigger="every 5s" hx-swap="outerHTML"><span class="pulse"></span><span>Last ${liveMinutes} minutes: <strong>${count(sum('sessions'))}</strong> sessions, <strong>${count(sum('impressions'))}</strong> impressions, <strong>${count(sum('clicks'))}</strong> clicks</span></p>`;
  }

  /** Today so far beside the same hours of the same day last week. */
  async function todayTiles(publisher: Publisher, money: Money): Promise<Html> {
    const at = now();
    const [today, before] = await Promise.all(
      [at, at - 7 * dayMs].map(async (end) => {
        const day = dayOf(publisher, end);
        const { rows } = await reports.activity(publisher, { from: day, to: day, aggregated_by: 'hour' });
        return metricsView(sumOf(rows.filter(({ startMs }) => startMs <= end)));
      }),
    );
    if (today === undefined || before === undefined) return nothing;
    return html`<h2 class="section">Today, against the same day last week</h2><div class="stats">${metricTiles(money).map(({ name, text, show, isRate }) => tile(text, show(today[name] ?? 0), change(today[name] ?? 0, before[name] ?? 0, isRate)))}</div>`;
  }

  function offerName(id: number, path: (rest: string) => string): Html | string {
    const offer = catalog.current().offers.get(id);
    return offer === undefined
      ? `Offer ${id}`
      : html`<a href="${path(`/offers/${id}`)}">${offer.copy.title || `Offer ${id}`}</a><br><span class="hint">${offer.campaign.advertiserName}</span>`;
  }
}

type MetricTile = { name: string; text: string; show: (value: number) => string; isRate: boolean };

const metricTiles = (money: Money): MetricTile[] => [
  { name: 'sessions', text: 'Sessions', show: count, isRate: false },
  { name: 'impressions', text: 'Impressions', show: count, isRate: false },
  { name: 'clicks', text: 'Clicks', show: count, isRate: false },
  { name: 'ctr', text: 'CTR', show: percent, isRate: true },
  { name: 'revenue', text: 'Revenue', show: money, isRate: false },
  { name: 'fill_rate', text: 'Fill rate', show: percent, isRate: true },
];

const tiles = (total: MetricsView, money: Money): Html =>
  html`<div class="stats">${metricTiles(money).map(({ name, text, show }) => tile(text, show(total[name] ?? 0), nothing))}</div>`;

const tile = (text: string, value: string, below: Html): Html =>
  html`<div class="stat"><span>${text}</span><strong>${value}</strong>${below}</div>`;

/** Rates change by points, everything else by a share. */
function change(now: number, before: number, isRate: boolean): Html {
  if (before === 0) return html`<small>none last week</small>`;
  const by = isRate ? now - before : now / before - 1;
  const text = isRate ? `${Math.abs(by * 100).toFixed(1)} points` : percent(Math.abs(by));
  return Math.abs(by) < 0.0005
    ? html`<small>as last week</small>`
    : html`<small class="${by > 0 ? 'up' : 'down'}">${by > 0 ? '▲' : '▼'} ${text} ${by > 0 ? 'more' : 'less'}</small>`;
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
  return Array.from({ length: days }, (_, index) => new Date(startMs + index * dayMs).toISOString().slice(0, 10)).map(
    (time) => ({
      time,
      metrics: byDay.get(time) ?? none,
    }),
  );
}

const shownGroups = 20;

function breakdown(
  title: string,
  rows: readonly ActivityRow[],
  nameOf: (id: string | number) => Html | string,
  money: Money,
): Html {
  const groups = new Map<string | number, ActivityRow[]>();
  for (const row of rows) {
    const id = row.group[0] ?? '';
    const list = groups.get(id);
    if (list === undefined) groups.set(id, [row]);
    else list.push(row);
  }
  const sums = [...groups].map(([id, list]) => ({ id, total: metricsView(sumOf(list)) }));
  sums.sort((a, b) => (b.total.impressions ?? 0) - (a.total.impressions ?? 0));
  const columns = [
    { text: title.replace('By ', '').replace(/^./, (letter) => letter.toUpperCase()) },
    ...['Sessions', 'Impressions', 'Clicks', 'CTR', 'Revenue', 'Fill rate'].map((text) => ({ text, numeric: true })),
  ];
  const cells = sums.slice(0, shownGroups).map(({ id, total }) => [nameOf(id), ...metricsCells(total, money)]);
  return html`<h2 class="section">${title}</h2>${table(title, columns, cells)}`;
}

const metricsCells = (total: MetricsView, money: Money): string[] => [
  count(total.sessions ?? 0),
  count(total.impressions ?? 0),
  count(total.clicks ?? 0),
  percent(total.ctr ?? 0),
  money(total.revenue ?? 0),
  percent(total.fill_rate ?? 0),
];
