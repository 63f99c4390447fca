import { crudPages } from '../../../management/crud-pages.ts';
import { t } from '../../../platform/i18n/messages.ts';
import type { App } from '../../../platform/ports.ts';
import { link, strongLink } from '../../../shell/components.ts';
import { moment } from '../../../shell/format.ts';
import { publisherPages } from '../../publisher-pages.ts';
import { advertisers } from '../../resources/advertisers.ts';
import type { PageServices } from '../services.ts';

export function advertiserPages(app: App, services: PageServices): void {
  crudPages(publisherPages(app, services), services.management, {
    resource: advertisers,
    path: '/advertisers',
    nav: 'advertisers',
    icon: 'advertisers',
    get title() {
      return t('nav.advertisers');
    },
    get lead() {
      return t('campaigns.advertisersLead');
    },
    writes: 'manager',
    get columns() {
      return [{ text: t('common.name') }, { text: t('nav.campaigns'), hidden: true }, { text: t('campaigns.updated') }];
    },
    cells: ({ path, publisher }, row) => [
      strongLink(path(`/advertisers/${row.id}`), String(row.name)),
      link(path(`/campaigns?advertiser_id=${row.id}`), t('nav.campaigns')),
      moment(publisher, String(row.updated_at)),
    ],
    get empty() {
      return { title: t('campaigns.noAdvertisers'), text: t('campaigns.noAdvertisersText') };
    },
    nameOf: (row) => String(row.name),
    read: (fields) => ({ name: fields.text('name') }),
    fields: (form) =>
      form.input('name', { label: t('common.name'), required: true, hint: t('campaigns.advertiserNameHint') }),
  });
}
