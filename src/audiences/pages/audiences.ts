import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import { crudPages } from '../../management/crud-pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { View } from '../../management/resource.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { type Cell, type Column, strongLink } from '../../shell/components.ts';
import { count, moment } from '../../shell/format.ts';
import type { Shell } from '../../shell/layout.ts';
import { audiences } from '../audiences.ts';
import type { Rule } from '../rules/rule.ts';
import { type Estimate, estimatePage, estimatePanel } from './estimate.ts';
import { type MemberServices, memberCards, memberPages } from './members.ts';
import { audienceFields, readAudience, ruleText, ruleToForm } from './rule-fields.ts';

export type AudienceServices = Shell & MemberServices & { management: ManagementClient; estimate: Estimate };

/** Registers the audience pages: the list, the form, the members and the lookups. */
export function audiencePages(app: App, services: AudienceServices): void {
  const pages = publisherPages(app, services);
  memberPages(pages, services);
  estimatePage(pages, services.estimate);
  crudPages(pages, services.management, {
    resource: audiences,
    path: '/audiences',
    nav: 'audiences',
    icon: 'users',
    title: 'audiences.title',
    lead: 'audiences.lead',
    writes: 'admin',
    columns: audienceColumns,
    cells: audienceCells,
    empty: { title: 'audiences.none', text: 'audiences.noneText' },
    nameOf: (row) => String(row.name),
    toForm: ruleToForm,
    read: readAudience,
    errorsToForm: (errors) => errors.map((error) => ({ ...error, path: error.path.replace(/^\/rule\/?/, '/rule.') })),
    fields: (form, context, { view }) => audienceFields(form, context, view),
    assets: ['uplot.css', 'language.js', 'uplot.js', 'charts.js'],
    beside: (context, { view }) => estimatePanel(context, view),
    below: (context, view) => memberCards(services, context, view),
  });
}

const audienceColumns = (): Column[] => [
  { text: t('common.name') },
  { text: t('audiences.filledBy') },
  { text: t('audiences.members'), numeric: true },
  { text: t('settings.created') },
];

/** Renders how much an audience has grown or shrunk in the last week. */
function trendText({ size, size_week_ago: before }: View): Html {
  const difference = typeof before === 'number' ? Number(size) - before : 0;
  if (difference === 0) return nothing;
  const sign = difference > 0 ? '+' : '−';
  const change = `${sign}${count(Math.abs(difference))}`;
  return html`<br><small class="hint">${t('audiences.trend', { change })}</small>`;
}

const audienceCells = ({ path, publisher }: PublisherContext, row: View): Cell[] => [
  html`
    ${strongLink(path(`/audiences/${encodeURIComponent(String(row.key))}`), String(row.name))}<br>
    <code class="hint">${String(row.key)}</code>`,
  ruleText(row.rule as Rule | null),
  html`${count(Number(row.size))}${trendText(row)}`,
  moment(publisher, String(row.created_at), 'day'),
];
