import { createKey, keys } from '../../../catalog/management/keys.ts';
import type { View } from '../../../catalog/management/resource.ts';
import { type Permission, permissions } from '../../../catalog/snapshot/types.ts';
import { type Html, html } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { actionButton, saveForm } from '../../shell/actions.ts';
import { badge, card, copyable, emptyState, notice, table } from '../../shell/components.ts';
import { keyIn, type PublisherContext } from '../../shell/context.ts';
import { type FieldErrors, type Fields, fieldErrorsOf } from '../../shell/fields.ts';
import { moment } from '../../shell/format.ts';
import { columns, createForm } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { localToInstant } from '../../shell/local-time.ts';
import { type PageServices, publisherPages } from '../../shell/pages.ts';

const permissionTexts: Record<Permission, string> = {
  'ads/offers': 'fetch offers',
  reports: 'read reports',
  configurations: 'change settings',
  'offers/management': 'manage offers',
  wallet: 'read and change wallets',
  accounts: 'full access to all publishers',
};

type TypedKey = { name: string; permissions: string[]; expires_at: string };
type State = { errors?: FieldErrors; typed?: TypedKey; secret?: string };

const maxKeys = 100;

/** API keys; a key is shown once, when it is created. */
export function keyPages(app: App, services: PageServices): void {
  const pages = publisherPages(app, services);
  pages.get('/settings/keys', 'admin', (context) => show(services, context));
  pages.post('/settings/keys', 'admin', (context, fields) => create(services, context, fields));
  pages.post('/settings/keys/:key/revoke', 'admin', async (context) => {
    const view = await services.management.remove(context, keys, keyIn(context));
    return {
      to: context.path('/settings/keys'),
      done: `${String(view.name)} revoked. Requests with it are refused within one second.`,
    };
  });
}

async function create(services: PageServices, context: PublisherContext, fields: Fields): Promise<Page> {
  const typed = {
    name: fields.text('name'),
    permissions: fields.all('permissions'),
    expires_at: fields.text('expires_at'),
  };
  const { timeZone } = context.publisher;
  const expiresAt = typed.expires_at === '' ? null : localToInstant(typed.expires_at, timeZone);
  try {
    const { secret } = await services.management.write(context, (work) =>
      createKey(work, { ...typed, expires_at: expiresAt }),
    );
    return show(services, context, { secret });
  } catch (err) {
    return show(services, context, { typed, errors: fieldErrorsOf(err) });
  }
}

async function show({ management }: PageServices, context: PublisherContext, state: State = {}): Promise<Page> {
  const { rows } = await management.list(context, keys, { limit: String(maxKeys), sort: '-id' });
  const { publisher } = context;
  return {
    title: 'API keys',
    lead: html`For server-side requests. Apps and web pages use the SDK id <code>${publisher.sdkId}</code> instead.`,
    nav: 'keys',
    status: (state.errors ?? []).length > 0 ? 422 : 200,
    body: html`
      ${state.secret !== undefined && secretNotice(state.secret)}
      ${rows.length === 0 ? noKeys : keyTable(context, rows)}
      ${card('Create API key', keyForm(context, state))}`,
  };
}

const noKeys = emptyState('keys', 'No API keys yet', 'Create the first one below.');

const secretNotice = (secret: string): Html =>
  notice(
    'done',
    html`
      <p><strong>API key created.</strong> Copy it now: it is not shown again.</p>
      ${copyable(secret, 'API key')}`,
  );

const keyColumns = [
  { text: 'Name' },
  { text: 'Permissions' },
  { text: 'Expires' },
  { text: 'Created' },
  { text: 'Actions', hidden: true },
];

function keyTable(context: PublisherContext, rows: readonly View[]): Html {
  const { path, publisher } = context;
  const revoke = (row: View) =>
    actionButton(context, {
      to: path(`/settings/keys/${row.id}/revoke`),
      text: 'Revoke',
      small: true,
      kind: 'quiet',
      confirm: `Requests with “${String(row.name)}” will be refused. This cannot be undone.`,
    });
  const cells = rows.map((row) => [
    html`<strong>${String(row.name)}</strong><br><code class="hint">${String(row.hint)}…</code>`,
    html`${(row.permissions as string[]).map((one) => html`${badge(one)} `)}`,
    row.expires_at === null ? 'never' : moment(publisher, String(row.expires_at)),
    moment(publisher, String(row.created_at), 'day'),
    html`<div class="row-actions">${revoke(row)}</div>`,
  ]);
  return table('API keys', keyColumns, cells);
}

function keyForm(context: PublisherContext, { typed, errors }: State): Html {
  const { path, publisher, viewer } = context;
  const form = createForm(typed ?? { name: '', permissions: ['ads/offers'] }, errors);
  const grantable = permissions.filter((one) => one !== 'accounts' || viewer.user.role === 'operator');
  const fields = html`
    ${form.summary()}
    ${columns([
      form.input('name', { label: 'Name', required: true, hint: 'Where it is used, such as “checkout server”.' }),
      form.input('expires_at', {
        label: 'Expires',
        type: 'datetime-local',
        hint: `${publisher.timeZone} time. Empty: never.`,
      }),
    ])}
    ${form.checkboxes('permissions', {
      label: 'Permissions',
      choices: grantable.map((one) => ({ value: one, text: `${one} – ${permissionTexts[one]}` })),
    })}`;
  return saveForm(context, path('/settings/keys'), fields, { button: 'Create key' });
}
