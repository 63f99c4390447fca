import { advertisers } from '../../../catalog/management/advertisers.ts';
import type { App } from '../../../platform/ports.ts';
import { link, strongLink } from '../../shell/components.ts';
import { crudPages } from '../../shell/crud/routes.ts';
import { moment } from '../../shell/format.ts';
import { type PageServices, publisherPages } from '../../shell/pages.ts';

export function advertiserPages(app: App, services: PageServices): void {
  crudPages(publisherPages(app, services), services.management, {
    resource: advertisers,
    path: '/advertisers',
    nav: 'advertisers',
    icon: 'advertisers',
    title: 'Advertisers',
    lead: 'Companies whose offers you show. An advertiser has campaigns, a campaign has offers.',
    writes: 'manager',
    columns: [{ text: 'Name' }, { text: 'Campaigns', hidden: true }, { text: 'Updated' }],
    cells: ({ path, publisher }, row) => [
      strongLink(path(`/advertisers/${row.id}`), String(row.name)),
      link(path(`/campaigns?advertiser_id=${row.id}`), 'Campaigns'),
      moment(publisher, String(row.updated_at)),
    ],
    empty: { title: 'No advertisers yet', text: 'Add an advertiser, then a campaign and its offers.' },
    nameOf: (row) => String(row.name),
    read: (fields) => ({ name: fields.text('name') }),
    fields: (form) => form.input('name', { label: 'Name', required: true, hint: 'Shown with every offer.' }),
  });
}
