import { crudPages } from '../../../management/crud-pages.ts';
import type { View } from '../../../management/resource.ts';
import type { App } from '../../../platform/http/app.ts';
import { html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { badge, type Cell, linkButton, strongLink } from '../../../shell/components.ts';
import { type PageContext, publisherPath } from '../../../shell/context.ts';
import { commonPages } from '../../../shell/pages.ts';
import { publishers } from '../../resources/publishers.ts';
import type { PageServices } from '../services.ts';
import { publisherFields, publisherToForm, readPublisher } from './publisher-form.ts';

/** Registers the pages for managing all publishers, which only operators can open. */
export function publisherAdminPages(app: App, services: PageServices): void {
  crudPages(commonPages(app, services), services.management, {
    resource: publishers,
    path: '/operator/publishers',
    nav: 'publishers',
    icon: 'publishers',
    title: 'nav.publishers',
    lead: 'operator.publishersLead',
    reads: 'operator',
    writes: 'operator',
    columns: publisherColumns,
    cells: publisherCells,
    empty: { title: 'operator.noPublishers', text: 'operator.noPublishersText' },
    nameOf: (row) => String(row.name),
    toForm: publisherToForm,
    read: (fields) => readPublisher(fields, true),
    fields: (form, _context, { view }) => publisherFields(form, { asOperator: true, isNew: view === null }),
    afterCreate: (_context, view) => ({
      to: publisherPath(Number(view.id), '/settings/keys'),
      done: t('operator.publisherCreated', { name: String(view.name) }),
    }),
    removable: false,
  });
}

const publisherColumns = () => [
  { text: t('common.name') },
  { text: t('operator.sdkId') },
  { text: t('settings.features') },
  { text: t('settings.timeZone') },
  { text: t('common.actions'), hidden: true },
];

function publisherCells({ path }: PageContext, row: View): Cell[] {
  const overview = publisherPath(Number(row.id), '/overview');
  const features = (['usp', 'wallet', 'offerwall'] as const).filter((name) => row[`${name}_enabled`] === true);
  return [
    html`
      ${strongLink(overview, String(row.name))}
      ${row.unit_enabled !== true && badge(t('common.disabled'), 'bad')}
      ${row.test_mode === true && badge(t('settings.testMode'), 'warn')}`,
    html`<code>${String(row.sdk_id)}</code>`,
    features.length === 0
      ? '–'
      : html`${features.map((name) => html`${badge(t(`operator.feature_${name}`), 'good')} `)}`,
    String(row.time_zone),
    html`
      <div class="row-actions">
        ${linkButton(overview, t('operator.open'))}
        ${linkButton(path(`/operator/publishers/${Number(row.id)}`), t('operator.edit'), 'quiet')}
      </div>`,
  ];
}
