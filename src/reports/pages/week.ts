import type pg from 'pg';
import type { PublisherContext } from '../../catalog/pages.ts';
import type { Publisher, Snapshot } from '../../catalog/types.ts';
import type { Figures } from '../../management/crud-definition.ts';
import type { View } from '../../management/resource.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { card, linkButton, rowsLink, sparkline } from '../../shell/components.ts';
import { moneyFormat } from '../../shell/format.ts';
import type { RowsOf } from '../metric-tiles.ts';
import { type Metrics, sumOf } from '../metrics.ts';
import { queryActivity } from '../query/query.ts';
import { dateIn } from '../query/request.ts';
import type { ActivityRow } from '../query/types.ts';
import { reachCard } from '../reach/card.ts';
import { currencyOf } from '../service.ts';
import { viewValue } from '../view.ts';
import { formatted } from './explorer/charts.ts';
import { metricOf } from './explorer/metrics.ts';
import { readState } from './explorer/state.ts';

const weekDays = 7;

/** Metrics of the last seven days, including today: the total and one entry per day. */
type Week = { total: Metrics; days: readonly Metrics[] };

type WeekOf = { dimension: 'placement' | 'campaign' | 'offer'; key: (row: View) => string | number };

type WeekDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  catalog: { current: () => Snapshot };
  now: () => number;
};

/** Loads the figures for the last 7 days, for a resource's list and pages. All rows are loaded with a single query. */
export function weekFigures(
  { pool, dbHealth, catalog, now }: WeekDeps,
  { dimension, key }: WeekOf,
): Figures<PublisherContext> {
  const failFast = createFailFast(dbHealth);
  const read = (publisher: Publisher, rows: readonly View[]): Promise<(row: View) => Week> =>
    failFast(async () => {
      const days = daysUntil(publisher, now());
      const { id: publisherId, timeZone } = publisher;
      const activity = await queryActivity(pool, {
        publisherId,
        timeZone,
        aggregatedBy: 'day',
        groupBy: [dimension],
        buckets: 'day',
        customKey: null,
        customValues: null,
        filters: { [dimension]: rows.map(key) },
        from: days[0] as string,
        to: days.at(-1) as string,
      });
      const byValue = new Map<string | number, ActivityRow[]>();
      for (const row of activity) getOrInsert(byValue, row.group[0] as string | number, () => []).push(row);
      return (row) => weekOf(byValue.get(key(row)) ?? [], days);
    });
  const rowsOfWeek =
    (path: PublisherContext['path'], value: string | number): RowsOf =>
    (metric, text) =>
      text === '–' ? text : rowsLink(path, text, { metric, range: '7d', filters: { [dimension]: [String(value)] } });
  const moneyOf = ({ id }: Publisher) => moneyFormat(currencyOf(catalog.current(), id));
  return {
    columns: () => [
      { text: t('reports.impressions7Days'), numeric: true },
      { text: t('reports.revenue7Days'), numeric: true },
    ],
    cells: async ({ publisher, path }, rows) => {
      const [weeks, money] = [await read(publisher, rows), moneyOf(publisher)];
      return (row) =>
        ['impressions', 'revenue'].map((name) => figure(name, weeks(row), money, rowsOfWeek(path, key(row))));
    },
    card: async (context, view) => {
      const { publisher, path } = context;
      const week = (await read(publisher, [view]))(view);
      const to = path(`/reports?${new URLSearchParams({ by: 'time', [dimension]: String(key(view)) })}`);
      const rowsOf = rowsOfWeek(path, key(view));
      const ofCampaign = { campaign: String(key(view)), range: '30d', metrics: 'reach' };
      return html`
        ${weekCard(week, moneyOf(publisher), { to, rowsOf })}
        ${dimension === 'campaign' && reachCard(context, readState(ofCampaign))}`;
    },
  };
}

function daysUntil({ timeZone }: Publisher, nowMs: number): string[] {
  const todayMs = Date.parse(dateIn(timeZone, nowMs));
  const backwards = Array.from({ length: weekDays }, (_, back) => todayMs - back * dayMs);
  return backwards.reverse().map((atMs) => new Date(atMs).toISOString().slice(0, 10));
}

const weekOf = (rows: readonly ActivityRow[], days: readonly string[]): Week => ({
  total: sumOf(rows),
  days: days.map((day) => sumOf(rows.filter(({ time }) => time === day))),
});

/** Returns the values for the chart, or an empty list for amounts in several currencies. */
const valuesOf = (name: string, { days, total }: Week): number[] =>
  total.money.length > 1 && metricOf(name).kind === 'money' ? [] : days.map((day) => viewValue(name, day));

const figure = (name: string, week: Week, money: (value: number) => string, rowsOf: RowsOf): Html => html`
  <span class="figure">
    ${sparkline(valuesOf(name, week))} ${rowsOf(name, formatted(metricOf(name), week.total, 'time', money))}
  </span>`;

/** Renders the card with the figures for the last seven days, or nothing if there was no activity. */
function weekCard(week: Week, money: (value: number) => string, links: { to: string; rowsOf: RowsOf }): Html {
  if ((week.total.sessions ?? 0) + (week.total.impressions ?? 0) === 0) return nothing;
  const tile = (name: string) => html`
    <div class="stat">
      <span>${metricOf(name).text}</span>
      <strong>${links.rowsOf(name, formatted(metricOf(name), week.total, 'time', money))}</strong>
      ${sparkline(valuesOf(name, week))}
    </div>`;
  const tiles = ['sessions', 'impressions', 'clicks', 'ctr', 'revenue'].map(tile);
  return card(t('ranges.7d'), html`<div class="stats">${tiles}</div>`, {
    actions: linkButton(links.to, t('reports.exploreOne'), 'quiet'),
  });
}
