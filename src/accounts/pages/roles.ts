import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import { crudPages } from '../../management/crud-pages.ts';
import { permissionsOf } from '../../management/unit-of-work.ts';
import type { App } from '../../platform/http/app.ts';
import { html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { badge, strongLink } from '../../shell/components.ts';
import type { Pages } from '../../shell/pages.ts';
import { grantable, rolesOf } from '../roles.ts';
import type { PageServices } from './services.ts';

const path = '/settings/roles';

/** Registers the pages for a publisher's custom roles. */
export function rolePages(app: App, services: PageServices): void {
  const { management } = services;
  const pages = publisherPages(app, services);
  const sensitive: Pages<PublisherContext> = {
    get: pages.get,
    post: (rest, role, act) => pages.post(rest, role, act, { isSensitive: true }),
  };
  crudPages(sensitive, management, {
    resource: rolesOf(management.permissions),
    path,
    nav: 'roles',
    icon: 'roles',
    title: 'nav.roles',
    lead: 'account.rolesLead',
    reads: 'admin',
    writes: 'admin',
    columns: () => [{ text: t('common.name') }, { text: t('settings.permissions') }],
    cells: (context, row) => [
      strongLink(context.path(`${path}/${row.id}`), String(row.name)),
      html`${(row.permissions as string[]).map((name) => html`<span translate="no">${badge(name)}</span> `)}`,
    ],
    empty: { title: 'account.noRoles', text: 'account.noRolesText' },
    nameOf: ({ name }) => String(name),
    read: (fields) => ({ name: fields.text('name'), permissions: fields.all('permissions') }),
    fields: (form, { viewer }) => {
      const ownPermissions = permissionsOf(viewer.user.role, management.permissions);
      return html`
        ${form.input('name', { label: t('common.name'), required: true })}
        ${form.checkboxes('permissions', {
          label: t('settings.permissions'),
          choices: grantable(management.permissions)
            .filter(({ name }) => ownPermissions.has(name))
            .map(({ name, text }) => ({
              value: name,
              text: t('settings.permission', { permission: name, text: t(text) }),
            })),
        })}`;
    },
  });
}
