import type { Alerts } from '../../alerts/module.ts';
import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { Publisher } from '../../catalog/types.ts';
import { createFailFast, type FailFast } from '../../platform/db/health.ts';
import type { App } from '../../platform/http/app.ts';
import type { DayRange } from '../../platform/http/day-range.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { offsetMs } from '../../platform/lib/time-zone.ts';
import { queryLiveMinutes } from '../../reports/activity.ts';
import {
  breakdown,
  charts,
  convertedNote,
  maxGroups,
  metricTiles,
  offerNames,
  rowsOfDays,
  todayTiles,
} from '../../reports/metric-tiles.ts';
import { type Metrics, metricNames, sumOf } from '../../reports/metrics.ts';
import { type ReportService, singleCurrencyOf } from '../../reports/service.ts';
import { emptyState, link, linkButton, notice, rowsLink, tabs } from '../../shell/components.ts';
import { queryText } from '../../shell/context.ts';
import { count, moneyFormat } from '../../shell/format.ts';
import type { Page } from '../../shell/layout.ts';
import type { PageServices } from './services.ts';
import { checklistPages, setupChecklist } from './setup/checklist.ts';

const ranges = ['7', '14', '30'] as const;
const liveMinutes = 30;

/** SDK ID of the embedded demo, and the custom attribute by which its generated sessions are marked. */
export type DemoMark = { sdkId: string; mark: { name: string; value: string } };

type OverviewServices = PageServices & {
  reports: ReportService;
  countNewAlerts: Alerts['countNewAlerts'];
  demo: DemoMark | undefined;
};

type Scope = OverviewServices & { failFast: FailFast };

/**
 * Registers the overview page: live counters, today's figures compared with last week's, and metrics over time, by
 * placement and by offer.
 */
export function overviewPages(app: App, services: OverviewServices): void {
  const pages = publisherPages(app, services);
  const scope: Scope = { ...services, failFast: createFailFast(services.deps.dbHealth) };
  checklistPages(pages, scope);
  pages.get('', 'analyst', ({ path }) => ({ to: path('/overview') }));
  pages.get('/overview', 'analyst', (context) => overviewPage(scope, context));
  pages.get('/overview/offers', 'analyst', async (context) => ({ fragment: await offerTable(scope, context) }));
  pages.get('/overview/live', 'analyst', async (context) => ({ fragment: await liveCounters(scope, context) }));
}

async function overviewPage(scope: Scope, context: PublisherContext): Promise<Page> {
  const { publisher } = context;
  const days = daysIn(context);
  const range = rangeOf(scope, publisher, days);
  const [overTime, byPlacement, live, checklist, newAlerts] = await Promise.all([
    scope.reports.activity(publisher, range),
    topOf(scope, publisher, 'placement', range),
    liveCounters(scope, context),
    setupChecklist(scope, context),
    scope.failFast(() =>
      scope.countNewAlerts(scope.deps.pool, { publisherId: publisher.id, userId: context.viewer.user.id }),
    ),
  ]);
  const currency = singleCurrencyOf(overTime.rows, scope.deps.catalog.current(), publisher.id);
  const money = moneyFormat(currency);
  const total = sumOf(overTime.rows);
  const rowsOf = rowsOfDays(context.path, range);
  const rowsOfToday = rowsOfDays(context.path, { from: range.to, to: range.to });
  const activity = async () => html`
    ${todayTiles(await todayAndLastWeek(scope, publisher), money, rowsOfToday)}
    ${rangeTabs(context, days)}
    ${metricTiles(total, money, rowsOf)}
    ${convertedNote(publisher, overTime.converted, total)}
    ${charts({ rows: overTime.rows, from: range.from, count: days, path: context.path }, currency)}
    ${breakdown({
      title: t('reports.byPlacement'),
      by: 'placement',
      groups: byPlacement,
      nameOf: (id) => String(id),
      money,
      rowsOf,
      allHref: reportOf(context, 'placement', range),
    })}
    <div hx-get="${context.path('/overview/offers')}?days=${days}" hx-trigger="load" hx-swap="outerHTML"></div>`;
  return {
    title: t('reports.overview'),
    lead: t('reports.overviewLead', { publisher: publisher.name, zone: publisher.timeZone }),
    nav: 'overview',
    actions: linkButton(context.path('/reports'), t('reports.explore')),
    assets: ['uplot.css', 'language.js', 'uplot.js', 'charts.js'],
    body: html`
      ${checklist}
      ${newAlerts > 0 && alertsNotice(context, newAlerts)}
      ${live}
      ${publisher.sdkId === scope.demo?.sdkId && syntheticDataNotice(scope.demo.mark)}
      ${total.sessions === 0 ? noActivity(context) : await activity()}`,
  };
}

const daysIn = (context: PublisherContext): number =>
  Number(ranges.find((range) => range === queryText(context, 'days')) ?? '14');

/** Returns the last days of the publisher, including today. */
function rangeOf({ deps }: Scope, publisher: Publisher, days: number): DayRange {
  const localNowMs = localMsOf(publisher, deps.now());
  return { from: dayOf(localNowMs - (days - 1) * dayMs), to: dayOf(localNowMs) };
}

const topOf = ({ reports }: Scope, { id, timeZone }: Publisher, by: 'placement' | 'offer', days: DayRange) =>
  reports.top({
    publisherId: id,
    timeZone,
    by,
    days,
    metrics: metricNames,
    metric: 'impressions',
    limit: maxGroups,
    filters: {},
    customKey: null,
    customValues: null,
  });

const reportOf = ({ path }: PublisherContext, by: 'placement' | 'offer', { from, to }: DayRange): string =>
  `${path('/reports')}?${new URLSearchParams({ from, to, by })}`;

/** Renders the table of offers, which loads after the page: a publisher can have thousands of offers. */
async function offerTable(scope: Scope, context: PublisherContext): Promise<Html> {
  const { publisher, path } = context;
  const range = rangeOf(scope, publisher, daysIn(context));
  const groups = await topOf(scope, publisher, 'offer', range);
  const snapshot = scope.deps.catalog.current();
  return breakdown({
    title: t('reports.byOffer'),
    by: 'offer',
    groups,
    nameOf: offerNames(snapshot, publisher, (id) => path(`/offers/${id}`)),
    money: moneyFormat(singleCurrencyOf(groups, snapshot, publisher.id)),
    rowsOf: rowsOfDays(path, range),
    allHref: reportOf(context, 'offer', range),
  });
}

/**
 * Converts a time to the publisher's local time, in milliseconds. Each local day has 24 hours, even on days when the
 * clocks change.
 */
const localMsOf = ({ timeZone }: Publisher, atMs: number): number => atMs + offsetMs(timeZone, atMs);

/** Returns the day of a local time in the form yyyy-mm-dd. */
const dayOf = (localMs: number): string => new Date(localMs).toISOString().slice(0, 10);

const alertsNotice = ({ path }: PublisherContext, alerts: number): Html =>
  notice(
    'warn',
    html`<p>${tHtml('reports.newAlerts', { count: alerts, a: (text) => link(path('/alerts'), text) })}</p>`,
  );

const syntheticDataNotice = (mark: DemoMark['mark']): Html =>
  notice('info', html`<p>${tHtml('reports.madeUp', { ...mark })}</p>`);

const noActivity = ({ path }: PublisherContext): Html =>
  emptyState(
    'overview',
    t('reports.noActivity'),
    t('reports.noActivityLead'),
    linkButton(path('/integration'), t('reports.goToIntegration'), 'main'),
  );

const rangeTabs = ({ path }: PublisherContext, days: number): Html =>
  tabs(
    t('reports.range'),
    ranges.map((range) => ({
      text: t('reports.days', { days: Number(range) }),
      href: `${path('/overview')}?days=${range}`,
      current: Number(range) === days,
    })),
  );

async function liveCounters({ deps, failFast }: Scope, { publisher, path }: PublisherContext): Promise<Html> {
  const minutes = await failFast(() =>
    queryLiveMinutes(deps.pool, { publisherId: publisher.id, minutes: liveMinutes, nowMs: deps.now() }),
  );
  const sum = (name: 'sessions' | 'impressions' | 'clicks'): Html =>
    rowsLink(path, count(minutes.reduce((total, { metrics }) => total + metrics[name], 0)), {
      metric: name,
      minutes: liveMinutes,
    });
  return html`
    <p class="live" hx-get="${path('/overview/live')}" hx-trigger="every 5s" hx-swap="outerHTML">
      <span class="live-dot"></span>
      <span>
        ${tHtml('reports.live', {
          minutes: liveMinutes,
          sessions: sum('sessions'),
          impressions: sum('impressions'),
          clicks: sum('clicks'),
        })}
      </span>
    </p>`;
}

/** Returns the metrics of today so far, and of the same hours on the same weekday last week. */
async function todayAndLastWeek(
  { deps, reports }: Scope,
  publisher: Publisher,
): Promise<{ today: Metrics; lastWeek: Metrics }> {
  const metricsUntil = async (localEndMs: number) => {
    const day = dayOf(localEndMs);
    const { rows } = await reports.activity(publisher, { from: day, to: day, aggregated_by: 'hour' });
    return sumOf(rows.filter(({ startMs }) => localMsOf(publisher, startMs) <= localEndMs));
  };
  const localNowMs = localMsOf(publisher, deps.now());
  const [today, lastWeek] = await Promise.all([metricsUntil(localNowMs), metricsUntil(localNowMs - 7 * dayMs)]);
  return { today, lastWeek };
}
