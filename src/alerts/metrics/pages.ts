import type pg from 'pg';
import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import { pauseActions } from '../../management/crud-definition.ts';
import { crudPages } from '../../management/crud-pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import { readColumns } from '../../management/read-columns.ts';
import { defaultsOf, type Values, type View } from '../../management/resource.ts';
import { checkValue } from '../../management/schema-errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { currencyOf } from '../../reports/service.ts';
import { badge, type Cell, type Column, card, link, liveCard, strongLink } from '../../shell/components.ts';
import { type Fields, hasRole } from '../../shell/context.ts';
import { count, moment } from '../../shell/format.ts';
import { columns, type FormBuilder } from '../../shell/forms.ts';
import type { Shell } from '../../shell/layout.ts';
import { metricKind } from '../kinds.ts';
import { conditionOf, historyDays, readHistory } from './check.ts';
import { firingTable, historyChart } from './history-card.ts';
import { alertMetrics, comparisons, firingsOf, type MetricCondition, windowLengths } from './measure.ts';
import { checkCondition, metricAlerts } from './resource.ts';
import { conditionText, metricName } from './sentence.ts';

const path = '/metric-alerts';
const previewPath = '/metric-alert-preview';

type MetricPageDeps = { pool: pg.Pool; catalog: CatalogStore; now: () => number };

type Services = Shell & { deps: MetricPageDeps; management: ManagementClient };

/** Registers the pages for metric alerts, and the preview of their conditions (docs/reference/management.md#alerts). */
export function metricAlertPages(app: App, services: Services): void {
  const { deps, management } = services;
  const pages = publisherPages(app, services);
  pages.post(previewPath, 'admin', async (context, fields) => ({ fragment: await preview(deps, context, fields) }));
  crudPages(pages, management, {
    resource: metricAlerts,
    path,
    nav: 'alerts',
    icon: 'alerts',
    title: 'metricAlerts.title',
    lead: 'metricAlerts.lead',
    writes: 'admin',
    columns: alertColumns,
    cells: alertCells,
    empty: { title: 'metricAlerts.none', text: 'metricAlerts.noneText' },
    nameOf: (row) => String(row.name),
    initial: (context) => ({ metric: 'fill_rate', comparison: 'drop', threshold: 50, ...currencyIn(deps, context) }),
    toForm: (values, context) => ({
      ...(values as Record<string, string>),
      ...(values.metric !== 'revenue' && currencyIn(deps, context)),
    }),
    read: readMetricAlert,
    fields: (form, context) => alertFields(form, context),
    beside: (context) => previewPanel(context),
    below: (context, view) => historyCard(deps, context, view),
    assets: ['uplot.css', 'language.js', 'uplot.js', 'charts.js'],
    bulk: pauseActions,
    undoable: true,
  });
}

/** Returns the publisher's currency, as the initial currency of an alert about revenue. */
const currencyIn = ({ catalog }: MetricPageDeps, { publisher }: PublisherContext) => ({
  currency: publisher.reportingCurrency ?? currencyOf(catalog.current(), publisher.id) ?? 'EUR',
});

function readMetricAlert(fields: Fields): Values {
  const names = ['name', 'metric', 'placement', 'comparison', 'threshold', 'currency', 'window_hours', 'active'];
  const { window_hours: _length, ...values } = readColumns(metricAlerts, fields, names);
  const currency = String(values.currency ?? '').toUpperCase();
  return {
    ...values,
    currency: values.metric === 'revenue' ? currency : null,
    window_hours: Number(fields.text('window_hours')),
  };
}

const alertColumns = (): Column[] => [
  { text: t('common.name') },
  { text: t('common.status') },
  { text: t('alerts.recent', { days: historyDays }), numeric: true },
];

const alertCells = ({ path: pathOf, publisher }: PublisherContext, row: View): Cell[] => [
  html`
    ${strongLink(pathOf(`${path}/${row.id}`), String(row.name))}<br>
    <span class="hint">${conditionText(row as unknown as MetricCondition)}</span>`,
  html`${stateBadge(row)}${
    row.fired_at !== null && html`<br><small class="hint">${moment(publisher, String(row.fired_at))}</small>`
  }`,
  row.fired_30_days === 0 ? '0' : link(pathOf(`/alerts?kind=${metricKind}`), count(Number(row.fired_30_days))),
];

function stateBadge({ active, firing }: View): Html {
  if (active !== true) return badge(t('settings.inactive'), 'warn');
  return firing === true ? badge(t('metricAlerts.firing'), 'bad') : badge(t('metricAlerts.quiet'), 'good');
}

function alertFields(form: FormBuilder, { publisher }: PublisherContext): Html {
  const placements = [...publisher.placements.keys()].sort().map((value) => ({ value, text: value }));
  const windows = windowLengths.map((hours) => ({
    value: String(hours),
    text: t('metricAlerts.windowLength', { hours }),
  }));
  return html`
    ${form.input('name', { label: t('common.name'), required: true, hint: t('metricAlerts.nameHint') })}
    ${columns([
      form.select('metric', {
        label: t('metricAlerts.metric'),
        choices: alertMetrics.map((metric) => ({ value: metric, text: t(`metrics.${metric}`) })),
      }),
      form.select('placement', {
        label: t('settings.placement'),
        choices: [{ value: '', text: t('settings.allPlacements') }, ...placements],
      }),
    ])}
    ${columns([
      form.select('comparison', {
        label: t('metricAlerts.comparison'),
        choices: comparisons.map((comparison) => ({
          value: comparison,
          text: t(`metricAlerts.comparison_${comparison}`),
        })),
      }),
      form.input('threshold', {
        label: t('metricAlerts.threshold'),
        type: 'number',
        min: 0,
        step: 'any',
        required: true,
        hint: t('metricAlerts.thresholdHint'),
      }),
    ])}
    ${columns([
      form.select('window_hours', {
        label: t('metricAlerts.window'),
        choices: windows,
        hint: t('metricAlerts.windowHint'),
      }),
      form.input('currency', { label: t('metricAlerts.currency') }),
    ])}
    ${form.checkbox('active', { label: t('settings.active') })}`;
}

/** Renders the panel next to the form, which shows when the condition would have been met. */
const previewPanel = (context: PublisherContext): Html =>
  hasRole(context.viewer.user.role, 'admin')
    ? liveCard(t('metricAlerts.preview'), context.path(previewPath), {
        hint: t('metricAlerts.previewHint'),
        lead: html`${t('metricAlerts.recipients')} ${link(context.path('/alerts'), t('alerts.rules'))}`,
      })
    : nothing;

async function preview(deps: MetricPageDeps, context: PublisherContext, fields: Fields): Promise<Html> {
  const values = { ...defaultsOf(metricAlerts), ...readMetricAlert(fields), name: 'preview' };
  const hint = html`<p class="hint">${t('metricAlerts.previewHint')}</p>`;
  if (checkValue(metricAlerts.input, values).length > 0) return hint;
  const condition = conditionOf(values as unknown as MetricCondition);
  return checkCondition(condition).length > 0 ? hint : historyOf(deps, context, condition);
}

/** Renders the history for readers who can't change the alert. */
async function historyCard(deps: MetricPageDeps, context: PublisherContext, view: View): Promise<Html> {
  if (hasRole(context.viewer.user.role, 'admin')) return nothing;
  const condition = conditionOf(view as unknown as MetricCondition);
  return card(t('metricAlerts.preview'), await historyOf(deps, context, condition));
}

async function historyOf(deps: MetricPageDeps, context: PublisherContext, condition: MetricCondition): Promise<Html> {
  const { publisher } = context;
  const { id: publisherId, timeZone } = publisher;
  const history = await readHistory(deps.pool, { publisherId, timeZone, condition }, { nowMs: deps.now() });
  const measurements = history.map(({ measurement }) => measurement);
  const sentence = html`<p class="hint">${conditionText(condition)}</p>`;
  if (measurements.every((measurement) => measurement === null))
    return html`${sentence}<p>${t('metricAlerts.noData', { metric: metricName(condition), days: historyDays })}</p>`;
  const times = firingsOf(measurements).length;
  return html`
    <p class="reach">${t('metricAlerts.wouldFire', { times, days: historyDays })}</p>
    ${sentence}
    ${historyChart(context, condition, history)}
    ${firingTable(context, condition, history)}`;
}
