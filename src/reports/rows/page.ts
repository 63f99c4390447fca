import type pg from 'pg';
import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { Snapshot } from '../../catalog/types.ts';
import type { Config } from '../../config.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { byteOrderMark, csvLine } from '../../platform/lib/csv.ts';
import { fromMicros } from '../../platform/money.ts';
import { problem, wordProblem } from '../../platform/problem.ts';
import {
  badge,
  type Cell,
  linkButton,
  noMatches,
  notice,
  pager,
  rowsPath,
  strongLink,
  table,
  tabs,
} from '../../shell/components.ts';
import { queryText } from '../../shell/context.ts';
import { count, moment, momentText, moneyFormat, utc } from '../../shell/format.ts';
import { createForm } from '../../shell/forms.ts';
import type { Page, Shell } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import { exploreQueryOf } from '../pages/explorer/answer.ts';
import { formatted } from '../pages/explorer/charts.ts';
import { perkStagesOf } from '../pages/explorer/funnel.ts';
import { metricOf, reportMetrics } from '../pages/explorer/metrics.ts';
import { type Names, namesOf, valueText } from '../pages/explorer/names.ts';
import { rangeText } from '../pages/explorer/periods.ts';
import { queryOf } from '../pages/explorer/state.ts';
import { filterChips } from '../pages/explorer/toolbar.ts';
import type { CountPerkStages, PerkStages } from '../perk-stages.ts';
import { tooLarge } from '../query/read-only.ts';
import type { ExploreQuery } from '../query/types.ts';
import { kindText, reasonText } from '../row-words.ts';
import type { ReportService } from '../service.ts';
import {
  type ActivityRecord,
  countOf,
  type PerkMetric,
  perkMetrics,
  readRows,
  rowMetrics,
  rowStatuses,
  writeCursor,
} from './query.ts';
import { type RowsRequest, type RowsState, readRowsState, rowsQueryOf, rowsRequestOf } from './request.ts';

type RowsDeps = { pool: pg.Pool; catalog: { current: () => Snapshot }; config: Config; now: () => number };

type Scope = { deps: RowsDeps; reports: ReportService; countPerkStages: CountPerkStages | null };

/** Path of the number of sessions at a stage of the perk funnel, which is loaded after the page itself. */
const perkCountPath = `${rowsPath}/perk-count`;

const rowsPerPage = 50;
/** Maximum number of rows in a file, and number of rows per statement. */
const maxFileRows = 50_000;
const fileRowsAtOnce = 5000;
/** Time limit for reading a file, in milliseconds. A file occupies one of the few slots for raw reports. */
const maxFileMs = 20_000;

/**
 * Registers the page with the rows behind a number of a report (docs/guides/reports.md#rows-behind-a-number). The
 * report and the rows have the same range and filters in their URLs.
 */
export function rowsPages(app: App, shell: Shell, scope: Scope): void {
  const pages = publisherPages(app, shell);
  pages.get(rowsPath, 'analyst', (context) => rowsPage(scope, context));
  pages.get(`${rowsPath}.csv`, 'analyst', (context) => rowsCsv(scope, context));
  pages.get(perkCountPath, 'analyst', (context) => perkCountFragment(scope, context));
}

const questionOf = ({ deps }: Scope, { publisher }: PublisherContext, state: RowsState) => ({
  state,
  publisher,
  names: namesOf(deps.catalog.current(), publisher),
  nowMs: deps.now(),
  retentionRawDays: deps.config.retentionRawDays,
});

async function rowsPage(scope: Scope, context: PublisherContext): Promise<Page> {
  const state = readRowsState(context);
  const question = questionOf(scope, context, state);
  const { publisher, path } = context;
  const head = {
    title: t('rows.title'),
    nav: 'reports',
    trail: [{ text: t('reports.title'), href: path(`/reports${queryOf(state.report)}`) }],
  };
  try {
    const { request, page } = await scope.reports.readRaw(
      publisher.id,
      async (executor) => {
        const request = await rowsRequestOf(executor, question);
        return { request, page: await readRows(executor, request.query, { after: state.after, limit: rowsPerPage }) };
      },
      context.request.signal,
    );
    const at = path(rowsPath);
    const href = `${at}${rowsQueryOf(state)}`;
    return {
      ...head,
      lead: leadOf(context, state, request),
      body: html`
        ${filterForm(context, state, at)}
        ${filterChips(state.report, question.names, (report) => `${at}${rowsQueryOf({ ...state, report })}`)}
        ${statusTabs(state, at)}
        ${retentionNotice(scope, request)}
        <div class="between">
          ${await countLine(scope, context, question, request)}
          <span class="toolbar-end">${exportLinks(path(`${rowsPath}.csv`), state)}</span>
        </div>
        ${rowsTable(context, question.names, page.rows, page.next !== null)}
        ${pager(state.after === null ? null : href, page.next && `${href}&after=${writeCursor(page.next)}`)}
        <p class="hint">${t('rows.duplicates')}</p>`,
    };
  } catch (err) {
    if (!(err instanceof AppError) || err.status !== 400) throw err;
    const [detail] = err.details ?? [];
    const text = wordProblem(detail?.message ?? err.problem);
    const week = `${path(rowsPath)}${rowsQueryOf({ ...state, report: { ...state.report, range: '7d' } })}`;
    return {
      ...head,
      status: 422,
      body: notice('warn', html`<p>${text}</p>${linkButton(week, t('reports.showLastWeek'))}`),
    };
  }
}

function leadOf({ publisher }: PublisherContext, { metric, hourMs, minutes }: RowsState, request: RowsRequest): string {
  const name = metricText(metric);
  if (minutes !== null) return t('rows.leadMinutes', { metric: name, minutes });
  const days = hourMs === null ? rangeText(request.periods.days) : momentText(publisher, hourMs);
  return t('rows.lead', { metric: name, days, zone: publisher.timeZone });
}

/** Stage of the perk funnel, by metric. */
const stageOf: Readonly<Record<PerkMetric, keyof PerkStages>> = {
  perks_selected: 'selected',
  perks_confirmed: 'confirmed',
  perks_delivered: 'delivered',
};

const perkMetricOf = (metric: string): PerkMetric | null => perkMetrics.find((name) => name === metric) ?? null;

function metricText(metric: string): string {
  const perkMetric = perkMetricOf(metric);
  return perkMetric === null ? metricOf(metric).text : t(`rows.metric_${perkMetric}`);
}

/** Renders the form that selects the metric. */
function filterForm({ publisher }: PublisherContext, state: RowsState, action: string): Html {
  const form = createForm({ metrics: state.metric });
  const query = new URLSearchParams(rowsQueryOf(state));
  query.delete('metrics');
  const hasPerks = publisher.uspEnabled || perkMetricOf(state.metric) !== null;
  const names = [
    ...reportMetrics.flatMap(({ name }) => (rowMetrics.includes(name) ? [name] : [])),
    ...(hasPerks ? perkMetrics : []),
  ];
  return html`
    <form class="filters" method="get" action="${action}" role="search">
      ${[...query].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
      ${form.select('metrics', {
        label: t('rows.metric'),
        choices: names.map((value) => ({ value, text: metricText(value) })),
      })}
      <button class="button">${t('common.apply')}</button>
    </form>`;
}

const statusTabs = (state: RowsState, at: string): Html =>
  tabs(
    t('rows.status'),
    rowStatuses.map((status) => ({
      text: t(`rows.status_${status}`),
      href: `${at}${rowsQueryOf({ ...state, status })}`,
      current: status === state.status,
    })),
  );

function retentionNotice({ deps }: Scope, { deletedBefore }: RowsRequest): Html {
  if (deletedBefore === null) return nothing;
  const day = momentText(utc, Date.parse(deletedBefore), 'day');
  return notice('info', html`<p>${t('rows.deleted', { days: deps.config.retentionRawDays, day })}</p>`);
}

/** Renders the number in the report to which the rows belong, or nothing if it cannot be computed. */
async function countLine(
  { reports, countPerkStages }: Scope,
  { request: { signal }, path }: PublisherContext,
  question: ReturnType<typeof questionOf>,
  { periods }: RowsRequest,
): Promise<Html> {
  const { state } = question;
  const { metric, hourMs, minutes, status } = state;
  if (hourMs !== null || minutes !== null || status !== 'counted') return html`<span></span>`;
  const isOfPerks = perkMetricOf(metric) !== null;
  const query = totalQueryOf(question, periods, isOfPerks ? 'sessions' : metric);
  if (query === null || (isOfPerks && countPerkStages === null)) return html`<span></span>`;
  if (isOfPerks)
    return html`
      <span hx-get="${path(perkCountPath)}${rowsQueryOf(state)}" hx-trigger="load" hx-swap="outerHTML"></span>`;
  const { total } = await reports.explore(query, signal);
  return totalLine(metric, formatted(metricOf(metric), total.now, 'time', moneyFormat(null)));
}

const totalLine = (metric: string, value: string): Html =>
  html`<p>${t('rows.inReport', { metric: metricText(metric) })} <strong>${value}</strong></p>`;

/** Returns the query for the total of a metric, or null if rollups cannot answer it. */
function totalQueryOf(
  { state: { report }, ...question }: ReturnType<typeof questionOf>,
  periods: RowsRequest['periods'],
  metric: string,
): ExploreQuery | null {
  const state = { ...report, by: 'time', also: [], metrics: [metric], metric, compare: 'none' as const };
  const query = exploreQueryOf({ ...question, state }, { ...periods, interval: 'day' });
  return 'text' in query ? null : query;
}

/** Renders the number of sessions at a stage of the perk funnel. Rollups lack it, so its sessions must be counted. */
async function perkCountFragment(scope: Scope, context: PublisherContext): Promise<PageResult> {
  const { reports, countPerkStages } = scope;
  const question = questionOf(scope, context, readRowsState(context));
  const { metric } = question.state;
  const perkMetric = perkMetricOf(metric);
  if (perkMetric === null || countPerkStages === null) return { fragment: nothing };
  const read = async (executor: Executor): Promise<PerkStages | null> => {
    const { periods } = await rowsRequestOf(executor, question);
    const query = totalQueryOf(question, periods, 'sessions');
    return query && perkStagesOf(executor, query, countPerkStages);
  };
  try {
    const stages = await reports.readRaw(context.publisher.id, read, context.request.signal);
    return { fragment: stages === null ? nothing : totalLine(metric, count(stages[stageOf[perkMetric]])) };
  } catch (err) {
    if (err instanceof AppError && err.status === 400) return { fragment: nothing };
    throw err;
  }
}

function exportLinks(path: string, state: RowsState): Html {
  const query = rowsQueryOf(state);
  return html`
    <a class="button small" href="${path}${query}" download translate="no">CSV</a>
    <a class="button small" href="${path}${query}&bom=true" download title="${t('reports.excelHint')}"
      translate="no">Excel</a>`;
}

const columns = () => [
  { text: t('rows.time') },
  { text: t('rows.kind') },
  { text: t('dimensions.offer') },
  { text: t('dimensions.placement') },
  { text: t('rows.user') },
  { text: t('rows.amount'), numeric: true },
  { text: t('rows.counts') },
];

function rowsTable(context: PublisherContext, names: Names, rows: readonly ActivityRecord[], hasNext: boolean): Html {
  if (rows.length === 0) return hasNext ? html`<p class="hint">${t('rows.noneHere')}</p>` : noMatches();
  return table(
    t('rows.title'),
    columns(),
    rows.map((row) => cellsOf(context, names, row)),
  );
}

function cellsOf({ publisher, path }: PublisherContext, names: Names, row: ActivityRecord): Cell[] {
  const { kind, offer_id: offerId, event, txn_id: txnId } = row;
  const offer = offerId === 0 ? '–' : valueText(names, 'offer', String(offerId));
  const campaign = names.campaign(row.campaign_id)?.name;
  const user = (['country', 'device', 'os'] as const).flatMap((name) =>
    row[name] === '' ? [] : [valueText(names, name, row[name])],
  );
  const details = [event, txnId].filter((part) => part !== null && part !== '').join(' · ');
  return [
    strongLink(path(`/story/${row.session_id}`), moment(publisher, row.at, 'second')),
    html`${kindText(kind)}${details !== '' && html`<br><small>${details}</small>`}`,
    html`${offer}${campaign !== undefined && html`<br><small>${campaign}</small>`}`,
    row.placement === '' ? '–' : row.placement,
    user.length === 0 ? '–' : user.join(' · '),
    amountText(row),
    countsCell(row),
  ];
}

function amountText({ currency, revenue_micros, unbilled_micros }: ActivityRecord): string {
  if (currency === '') return '–';
  const money = moneyFormat(currency);
  const unbilled = Number(unbilled_micros);
  const revenue = money(fromMicros(Number(revenue_micros)));
  return unbilled === 0 ? revenue : t('rows.unbilledAmount', { revenue, unbilled: money(fromMicros(unbilled)) });
}

function countsCell({ counts, kind, reason }: ActivityRecord): Html {
  const text = reason === null ? '' : reasonText(reason);
  const state = counts
    ? badge(kind === 'void' ? t('rows.countsMinus') : t('rows.countsYes'), 'good')
    : badge(t('rows.countsNo'), 'warn');
  return html`${state}${text !== '' && html` <small>${text}</small>`}`;
}

async function rowsCsv(scope: Scope, context: PublisherContext): Promise<PageResult> {
  const state = readRowsState(context);
  const question = questionOf(scope, context, state);
  const { rows, days } = await scope.reports.readRaw(
    context.publisher.id,
    async (executor) => {
      const { query, periods } = await rowsRequestOf(executor, question);
      const rows: ActivityRecord[] = [];
      const endMs = performance.now() + maxFileMs;
      for (let after = null as RowsState['after']; ; ) {
        context.request.signal?.throwIfAborted();
        if (performance.now() > endMs) throw tooLarge(problem('reportSlow'));
        const page = await readRows(executor, query, { after, limit: fileRowsAtOnce });
        rows.push(...page.rows);
        if (rows.length > maxFileRows) throw tooLarge(problem('tooManyRows', { max: maxFileRows }));
        if (page.next === null) return { rows, days: periods.days };
        after = page.next;
      }
    },
    context.request.signal,
  );
  const bom = queryText(context, 'bom') === 'true' ? byteOrderMark : '';
  return {
    download: `${bom}${csvLine(csvHeadings)}${rows.map((row) => csvLine(csvCells(row, question.names))).join('')}`,
    type: 'text/csv; charset=utf-8',
    name: `${state.metric}-${days.from}-${days.to}.csv`,
  };
}

const csvHeadings = [
  'at',
  'kind',
  'session_id',
  'offer_id',
  'offer',
  'campaign_id',
  'placement',
  'country',
  'device',
  'os',
  'counts',
  'reason',
  'revenue',
  'unbilled',
  'currency',
  'event',
  'txn_id',
];

const csvCells = (row: ActivityRecord, names: Names): (string | number)[] => [
  row.at.toISOString(),
  row.kind,
  row.session_id,
  ...(row.offer_id === 0
    ? ['', '', '']
    : [row.offer_id, valueText(names, 'offer', String(row.offer_id)), row.campaign_id]),
  row.placement,
  row.country,
  row.device,
  row.os,
  countOf(row),
  row.reason ?? '',
  ...(row.currency === ''
    ? ['', '', '']
    : [fromMicros(Number(row.revenue_micros)), fromMicros(Number(row.unbilled_micros)), row.currency]),
  row.event ?? '',
  row.txn_id ?? '',
];
