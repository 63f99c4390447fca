import { publishers } from '../../../catalog/management/publishers.ts';
import { html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { badge, linkButton } from '../../shell/components.ts';
import { publisherPath } from '../../shell/context.ts';
import { crudPages } from '../../shell/crud.ts';
import { commonPages, type Tools } from '../../shell/pages.ts';
import { publisherFields, readPublisher } from '../settings/publisher-form.ts';

/** For operators: all publishers, and the way into each. */
export function publisherAdminPages(app: App, tools: Tools): void {
  crudPages(commonPages(app, tools), tools.store, {
    resource: publishers,
    path: '/operator/publishers',
    nav: 'publishers',
    icon: 'publishers',
    title: 'Publishers',
    lead: 'Open one to work in it.',
    one: 'a publisher',
    reads: 'operator',
    writes: 'operator',
    columns: [
      { text: 'Name' },
      { text: 'SDK id' },
      { text: 'Enabled' },
      { text: 'Time zone' },
      { text: 'Actions', hidden: true },
    ],
    cells: (_context, row) => {
      const id = Number(row.id);
      const enabled = (['usp', 'wallet', 'offerwall'] as const).filter((name) => row[`${name}_enabled`] === true);
      return [
        html`<a href="${publisherPath(id, '/overview')}"><strong>${String(row.name)}</strong></a>${row.unit_enabled === true ? html`` : html` ${badge('Off', 'bad')}`}${row.test_mode === true ? html` ${badge('Test mode', 'warn')}` : html``}`,
        html`<code>${String(row.sdk_id)}</code>`,
        enabled.length === 0
          ? '–'
          : html`${enabled.map((name) => html`${badge(name === 'usp' ? 'USP' : name, 'good')} `)}`,
        String(row.time_zone),
        html`<div class="row-actions">${linkButton(publisherPath(id, '/overview'), 'Open')}${linkButton(`/dashboard/operator/publishers/${id}`, 'Edit', 'quiet')}</div>`,
      ];
    },
    empty: {
      title: 'No publishers yet',
      text: 'A publisher is a shop or an app that shows offers. Everything else belongs to one.',
    },
    nameOf: (row) => String(row.name),
    read: (fields) => readPublisher(fields, true),
    fields: (form, _context, { values }) =>
      publisherFields(form, { asOperator: true, timeZone: String(values.time_zone) }),
    afterCreate: (_context, view) => ({
      to: publisherPath(Number(view.id), '/settings/keys'),
      done: `${String(view.name)} is made. Next: an API key for its servers.`,
    }),
    removable: false,
  });
}
