import { advertisers } from '../../../catalog/management/advertisers.ts';
import { html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { crudPages } from '../../shell/crud.ts';
import { moment } from '../../shell/format.ts';
import { publisherPages, type Tools } from '../../shell/pages.ts';

export function advertiserPages(app: App, tools: Tools): void {
  crudPages(publisherPages(app, tools), tools.store, {
    resource: advertisers,
    path: '/advertisers',
    nav: 'advertisers',
    icon: 'advertisers',
    title: 'Advertisers',
    lead: 'Whose offers you show. Each has campaigns, each campaign has offers.',
    one: 'an advertiser',
    writes: 'manager',
    columns: [{ text: 'Name' }, { text: 'Campaigns', hidden: true }, { text: 'Changed' }],
    cells: ({ path, publisher }, row) => [
      html`<a href="${path(`/advertisers/${row.id}`)}"><strong>${String(row.name)}</strong></a>`,
      html`<a href="${path(`/campaigns?advertiser_id=${row.id}`)}">Campaigns</a>`,
      moment(publisher, new Date(String(row.updated_at))),
    ],
    empty: {
      title: 'No advertisers yet',
      text: 'Add the first one; then give it a campaign, and the campaign an offer.',
    },
    nameOf: (row) => String(row.name),
    read: (fields) => ({ name: fields.text('name') }),
    fields: (form) => form.input('name', { label: 'Name', required: true, hint: 'Shown with every offer.' }),
  });
}
