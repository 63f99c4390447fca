import type pg from 'pg';
import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import type { Snapshot } from '../../../catalog/types.ts';
import type { Config } from '../../../config.ts';
import { createFailFast, type DatabaseHealth } from '../../../platform/db/health.ts';
import type { Executor } from '../../../platform/db/pool.ts';
import type { Replica } from '../../../platform/db/replica.ts';
import { AppError } from '../../../platform/errors.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t, tHtml } from '../../../platform/i18n/messages.ts';
import { problem } from '../../../platform/problem.ts';
import { linkButton, notice, rowsLink } from '../../../shell/components.ts';
import { queryText } from '../../../shell/context.ts';
import { moment, moneyFormat } from '../../../shell/format.ts';
import type { Page, Shell } from '../../../shell/layout.ts';
import { isFragmentRequest, type PageResult } from '../../../shell/pages.ts';
import { convertedNote } from '../../metric-tiles.ts';
import type { CountPerkStages } from '../../perk-stages.ts';
import { attributeKeys } from '../../query/explore.ts';
import { reachCard, reachPages } from '../../reach/card.ts';
import { rowsPages } from '../../rows/page.ts';
import { createReportService, type ReportService } from '../../service.ts';
import {
  answerOf,
  currencyOfAnswer,
  exploreQueryOf,
  type Problem,
  type ReportAnswer,
  type ReportQuestion,
} from './answer.ts';
import { chartCard, metricTiles, type Writing } from './charts.ts';
import { toReportCsv } from './csv.ts';
import { funnelCard, funnelFragment, funnelPath } from './funnel.ts';
import { isComparable, metricOf, userMetrics } from './metrics.ts';
import { namesOf } from './names.ts';
import { rangeText } from './periods.ts';
import { groupTabs, rowsTable } from './rows.ts';
import { savedMenu, savedReportPages } from './saved-menu.ts';
import { listSavedReports, type SavedReport } from './saved-reports.ts';
import { attributeOf, type ExplorerState, hasUsers, queryOf, readState, views } from './state.ts';
import { filterChips, shareMenu, toolbar } from './toolbar.ts';

type PageDeps = {
  pool: pg.Pool;
  replica: Replica | null;
  dbHealth: DatabaseHealth;
  catalog: { current: () => Snapshot };
  config: Config;
  now: () => number;
};

/** Services that the report pages use. */
type PageServices = Shell & { deps: PageDeps; countPerkStages: CountPerkStages | null };

const reportsPath = '/reports';

type Scope = {
  deps: PageDeps;
  reports: ReportService;
  failFast: ReturnType<typeof createFailFast>;
};

/** Registers the report explorer pages (docs/guides/reports.md#the-explorer). The whole query is in the URL. */
export function explorerPages(app: App, services: PageServices): void {
  const { deps, countPerkStages } = services;
  const pages = publisherPages(app, services);
  const scope: Scope = { deps, reports: createReportService(deps), failFast: createFailFast(deps.dbHealth) };
  pages.get(reportsPath, 'analyst', (context) => explorerPage(scope, context));
  pages.get(`${reportsPath}.csv`, 'analyst', (context) => explorerCsv(scope, context));
  pages.get(funnelPath, 'analyst', async (context) => {
    if (countPerkStages === null) return { fragment: nothing };
    return funnelFragment({ ...scope, countPerkStages }, context, askedBy(scope, context));
  });
  savedReportPages(pages, deps);
  reachPages(pages, { ...deps, reports: scope.reports });
  rowsPages(app, services, { ...scope, countPerkStages });
}

const askedBy = ({ deps }: Scope, { request, publisher }: PublisherContext): ReportQuestion => ({
  state: readState(request.query as Record<string, unknown>),
  publisher,
  names: namesOf(deps.catalog.current(), publisher),
  nowMs: deps.now(),
});

async function explorerCsv(scope: Scope, context: PublisherContext): Promise<PageResult> {
  const question = askedBy(scope, context);
  const answer = await answerOf(scope.reports, question, context.request.signal);
  if ('text' in answer) throw new AppError('invalid_request', { message: problem('verbatim', { text: answer.text }) });
  const { from, to } = answer.periods.days;
  const bom = queryText(context, 'bom') === 'true';
  const currency = currencyOfAnswer(answer, scope.deps.catalog.current(), context.publisher.id);
  const text = toReportCsv(question.state, answer, { names: question.names, currency }, bom);
  return { download: text, type: 'text/csv; charset=utf-8', name: `report-${from}-${to}.csv` };
}

async function explorerPage(scope: Scope, context: PublisherContext): Promise<Page> {
  const question = askedBy(scope, context);
  const { pool } = scope.deps;
  const publisherId = context.publisher.id;
  const asOf = scope.reports.asOf();
  const [answer, attributes, saved] = await Promise.all([
    answerOf(scope.reports, question, context.request.signal, 'page'),
    scope.failFast(() => attributeKeys(pool, publisherId)),
    scope.failFast(() => listSavedReports(pool, publisherId)),
  ]);
  const usersFrom = await usersFromOf(scope, question, answer);
  const activeFrom = 'text' in answer ? null : await scope.failFast(() => activeFromOf(pool, context, answer));
  return {
    title: t('reports.title'),
    lead: t('reports.lead', { publisher: context.publisher.name, zone: context.publisher.timeZone }),
    nav: 'reports',
    assets: ['uplot.css', 'language.js', 'uplot.js', 'charts.js'],
    // Fragments are sent with 200 even for errors, because htmx does not display error responses.
    status: 'text' in answer && !isFragmentRequest(context.request) ? 422 : 200,
    body: html`
      <div id="explorer" hx-boost="true" hx-target="#explorer" hx-select="#explorer" hx-swap="outerHTML show:none">
        ${body(scope, context, { question, answer, usersFrom, activeFrom, attributes, saved })}
        ${asOf !== null && asOfNote(context, asOf)}
      </div>`,
  };
}

/** Returns the first day with unique users if the report should contain them, but does not because of its range. */
async function usersFromOf(
  { reports }: Scope,
  question: ReportQuestion,
  answer: ReportAnswer | Problem,
): Promise<string | null> {
  if ('text' in answer || !hasUsers(question.state) || answer.total.now.users !== undefined) return null;
  const query = exploreQueryOf(question, answer.periods);
  if ('text' in query) return null;
  const byDay = { ...query, ...query.days, groupBy: [], aggregatedBy: 'day', buckets: 'day' } as const;
  return reports.usersFromDay(byDay, 'sketches');
}

/** Returns the publisher's first day with activity if it is within the comparison period, so that it lacks days. */
async function activeFromOf(
  executor: Executor,
  { publisher }: PublisherContext,
  { periods: { before } }: ReportAnswer,
): Promise<string | null> {
  if (before === null) return null;
  const { rows } = await executor.query<{ day: string | null }>({
    name: 'first_active_day',
    text: `select (min(bucket) at time zone time_zone_or_utc($2))::date::text as day
      from rollups where publisher_id = $1 and grain = 0`,
    values: [publisher.id, publisher.timeZone],
  });
  const day = rows[0]?.day ?? null;
  return day !== null && day > before.from && day <= before.to ? day : null;
}

const asOfNote = ({ publisher }: PublisherContext, asOf: Date): Html =>
  html`<p class="hint">${tHtml('reports.asOf', { time: moment(publisher, asOf, 'second') })}</p>`;

type ExplorerContent = {
  question: ReportQuestion;
  answer: ReportAnswer | Problem;
  /** First day with unique users, if the report lacks them because of its range. */
  usersFrom: string | null;
  /** First day with activity, if it is within the comparison period. */
  activeFrom: string | null;
  attributes: readonly string[];
  saved: readonly SavedReport[];
};

function body(
  { deps }: Scope,
  context: PublisherContext,
  { question, answer, usersFrom, activeFrom, attributes, saved }: ExplorerContent,
): Html {
  const { publisher, path } = context;
  const { state, names } = question;
  const action = path(reportsPath);
  const href = (to: ExplorerState): string => `${action}${queryOf(to)}`;
  const currency = currencyOfAnswer(answer, deps.catalog.current(), publisher.id);
  const rowsOf: Writing['rowsOf'] = (metric, value, { filters = {}, ...target } = {}) =>
    value === '–' || 'text' in answer || userMetrics.includes(metric)
      ? value
      : rowsLink(path, value, {
          metric,
          days: answer.periods.days,
          ...target,
          filters: { ...state.filters, ...filters },
        });
  const writing: Writing = { href, currency, money: moneyFormat(currency), timeZone: publisher.timeZone, rowsOf };
  const keys = attributes.map((key) => `custom.${key}`);
  const isProblem = 'text' in answer;
  return html`
    <div class="toolbar">
      ${toolbar(state, isProblem ? null : answer.periods, href, action)}
      <span class="toolbar-end" hx-boost="false">
        ${savedMenu(context, state, saved)}
        ${!isProblem && shareMenu(`${deps.config.publicUrl}${href(fixed(state, answer))}`)}
        ${!isProblem && exportLinks(path(`${reportsPath}.csv`), state)}
      </span>
    </div>
    ${filterChips(state, names, href)}
    ${
      isProblem
        ? problemNotice(answer, href)
        : html`
          ${metricTiles(state, answer, writing)}
          ${convertedNote(publisher, answer.converted, answer.total.now)}
          <div class="between">${viewSwitch(state, href)}</div>
          ${remarks(state, answer, { usersFrom, activeFrom })}
          ${chartCard(state, answer, writing)}
          ${hasUsers(state) && reachCard(context, state)}
          ${funnelCard(context, state)}
          ${groupTabs(state, keys, writing)}
          ${rowsTable(state, answer, writing, names)}`
    }`;
}

/** Replaces the relative date range in a state with its current dates. */
const fixed = (state: ExplorerState, { periods }: ReportAnswer): ExplorerState => ({
  ...state,
  range: null,
  ...periods.days,
});

/** Renders the links that download all rows: as CSV, and as CSV that Excel reads as UTF-8. */
function exportLinks(path: string, state: ExplorerState): Html {
  const query = queryOf(state);
  return html`
    <a class="button small" href="${path}${query}" download translate="no">CSV</a>
    <a class="button small" href="${path}${query === '' ? '?' : `${query}&`}bom=true" download
      title="${t('reports.excelHint')}" translate="no">Excel</a>`;
}

const problemNotice = ({ text, fix }: Problem, href: (state: ExplorerState) => string): Html =>
  notice('warn', html`<p>${text}</p>${fix !== null && linkButton(href(fix.state), fix.text)}`);

/** Renders notes on the comparison: metrics that cannot be compared, and how an incomplete day is compared. */
function remarks(
  state: ExplorerState,
  answer: ReportAnswer,
  { usersFrom, activeFrom }: { usersFrom: string | null; activeFrom: string | null },
): Html {
  return html`${usersRemark(state, answer, usersFrom)}${comparisonRemark(state, answer, activeFrom)}`;
}

/** Renders why unique users are missing, or how they are counted. */
function usersRemark(state: ExplorerState, { total, periods }: ReportAnswer, usersFrom: string | null): Html {
  if (!hasUsers(state)) return nothing;
  if (total.now.users === undefined) {
    const byAttribute = [state.by, ...Object.keys(state.filters)].some((name) => attributeOf(name) !== null);
    if (usersFrom === null || byAttribute)
      return html`<p class="hint">${byAttribute ? t('reach.notByAttribute') : t('reach.notSince')}</p>`;
    return html`<p class="hint">${t('reach.notBefore', { day: dayText(usersFrom) })}</p>`;
  }
  const { isExact, unknown } = total.now.users;
  return html`
    <p class="hint">
      ${isExact ? t('reach.exact') : t('reach.estimated')}
      ${unknown > 0 && t('reach.unknown', { impressions: unknown })}
      ${periods.interval === 'hour' && t('reach.notByHour')}
      ${periods.beforeUntilMs !== null && t('reach.notCutOff')}
    </p>`;
}

const dayText = (day: string): string => rangeText({ from: day, to: day });

function comparisonRemark(
  { metrics: names }: ExplorerState,
  { periods, isUneven, total }: ReportAnswer,
  activeFrom: string | null,
): Html {
  const { before } = periods;
  if (before === null) return nothing;
  const metrics = names.map(metricOf);
  const without = metrics.filter((metric) => !isComparable(metric, total.before));
  const list = without.map(({ text }) => text).join(', ');
  const isNone = without.length === metrics.length;
  return html`
    ${isNone && html`<p class="hint">${t('reports.noComparison', { days: rangeText(before) })}</p>`}
    ${
      !isNone &&
      without.length > 0 &&
      html`<p class="hint">${t('reports.noComparisonOf', { metrics: list, days: rangeText(before) })}</p>`
    }
    ${
      !isNone &&
      activeFrom !== null &&
      html`<p class="hint">${t('reports.shortComparison', { day: dayText(activeFrom) })}</p>`
    }
    ${
      !isNone &&
      periods.isRunning &&
      html`<p class="hint">${isUneven ? t('reports.todayWhole') : t('reports.todayHours')}</p>`
    }`;
}

function viewSwitch(state: ExplorerState, href: (state: ExplorerState) => string): Html {
  const viewLink = (view: ExplorerState['view']) => html`
    <a id="view-${view}" href="${href({ ...state, view })}"
      ${view === state.view && html` aria-current="true"`}>${t(`reports.view_${view}`)}</a>`;
  return html`<p class="order" role="group" aria-label="${t('reports.view')}">${views.map(viewLink)}</p>`;
}
