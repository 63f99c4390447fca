import { publishers } from '../../../catalog/management/publishers.ts';
import type { View } from '../../../catalog/management/resource.ts';
import { html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { badge, type Cell, linkButton, strongLink } from '../../shell/components.ts';
import { type PageContext, publisherPath } from '../../shell/context.ts';
import { crudPages } from '../../shell/crud/routes.ts';
import { commonPages, type PageServices } from '../../shell/pages.ts';
import { publisherFields, readPublisher } from '../settings/publisher-form.ts';

/** All publishers, for operators. */
export function publisherAdminPages(app: App, services: PageServices): void {
  crudPages(commonPages(app, services), services.management, {
    resource: publishers,
    path: '/operator/publishers',
    nav: 'publishers',
    icon: 'publishers',
    title: 'Publishers',
    lead: 'Open a publisher to manage its offers, settings and users.',
    reads: 'operator',
    writes: 'operator',
    columns: [
      { text: 'Name' },
      { text: 'SDK id' },
      { text: 'Features' },
      { text: 'Time zone' },
      { text: 'Actions', hidden: true },
    ],
    cells: publisherCells,
    empty: {
      title: 'No publishers yet',
      text: 'A publisher is a shop or an app that shows offers. All other data belong to a publisher.',
    },
    nameOf: (row) => String(row.name),
    read: (fields) => readPublisher(fields, true),
    fields: (form) => publisherFields(form, true),
    afterCreate: (_context, view) => ({
      to: publisherPath(Number(view.id), '/settings/keys'),
      done: `${String(view.name)} created. Next: create an API key.`,
    }),
    removable: false,
  });
}

function publisherCells({ path }: PageContext, row: View): Cell[] {
  const overview = publisherPath(Number(row.id), '/overview');
  const features = (['usp', 'wallet', 'offerwall'] as const).filter((name) => row[`${name}_enabled`] === true);
  return [
    html`
      ${strongLink(overview, String(row.name))}
      ${row.unit_enabled !== true && badge('Disabled', 'bad')}
      ${row.test_mode === true && badge('Test mode', 'warn')}`,
    html`<code>${String(row.sdk_id)}</code>`,
    features.length === 0
      ? '–'
      : html`${features.map((name) => html`${badge(name === 'usp' ? 'USP' : name, 'good')} `)}`,
    String(row.time_zone),
    html`
      <div class="row-actions">
        ${linkButton(overview, 'Open')}
        ${linkButton(path(`/operator/publishers/${Number(row.id)}`), 'Edit', 'quiet')}
      </div>`,
  ];
}
