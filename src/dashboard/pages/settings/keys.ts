import { createKey, keys } from '../../../catalog/management/keys.ts';
import { type Permission, permissions } from '../../../catalog/snapshot/types.ts';
import { html, nothing } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { actionButton, badge, card, copyable, emptyState, saveForm, table } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { moment } from '../../shell/format.ts';
import { createForm, type Problems, problemsOf } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { localToInstant } from '../../shell/local-time.ts';
import { actorOf, keyIn, publisherOf } from '../../shell/management.ts';
import { publisherPages, type Tools } from '../../shell/pages.ts';

const meanings: Record<Permission, string> = {
  'ads/offers': 'fetch offers',
  reports: 'read reports',
  configurations: 'change settings',
  'offers/management': 'manage offers',
  wallet: 'read and change wallets',
  accounts: 'everything, of all publishers',
};

type State = {
  problems?: Problems;
  typed?: { name: string; permissions: string[]; expires_at: string };
  made?: string;
};

/** API keys: shown once, when they are made. */
export function keyPages(app: App, tools: Tools): void {
  const { store } = tools;
  const pages = publisherPages(app, tools);

  pages.get('/settings/keys', 'admin', (context) => show(context));

  pages.post('/settings/keys', 'admin', async (context, fields) => {
    const typed = {
      name: fields.text('name'),
      permissions: fields.all('permissions'),
      expires_at: fields.text('expires_at'),
    };
    const given = {
      ...typed,
      expires_at: typed.expires_at === '' ? null : localToInstant(typed.expires_at, context.publisher.timeZone),
    };
    try {
      const { secret } = await store.write(actorOf(context), publisherOf(context), (work) => createKey(work, given));
      return show(context, { made: secret });
    } catch (err) {
      return show(context, { typed, problems: problemsOf(err) });
    }
  });

  pages.post('/settings/keys/:key/revoke', 'admin', async (context) => {
    const view = await store.remove(context, keys, keyIn(context));
    return {
      to: context.path('/settings/keys'),
      done: `${String(view.name)} is revoked. Calls with it are refused within a second.`,
    };
  });

  async function show(context: PublisherContext, { problems = [], typed, made }: State = {}): Promise<Page> {
    const { rows } = await store.list(context, keys, { limit: '100', sort: '-id' });
    const { path, publisher, viewer } = context;
    const form = createForm(typed ?? { name: '', permissions: ['ads/offers'] }, problems);
    const grantable = permissions.filter((one) => one !== 'accounts' || viewer.user.role === 'operator');
    const cells = rows.map((row) => [
      html`<strong>${String(row.name)}</strong><br><code class="hint">${String(row.hint)}…</code>`,
      html`${(row.permissions as string[]).map((one) => html`${badge(one)} `)}`,
      row.expires_at === null ? 'never' : moment(publisher, new Date(String(row.expires_at))),
      moment(publisher, new Date(String(row.created_at)), 'day'),
      html`<div class="row-actions">${actionButton(context, { to: path(`/settings/keys/${row.id}/revoke`), text: 'Revoke', small: true, kind: 'quiet', confirm: `Calls with “${String(row.name)}” will be refused. This cannot be undone.` })}</div>`,
    ]);
    return {
      title: 'API keys',
      lead: html`For your servers. Apps and web pages use the SDK id <code>${publisher.sdkId}</code> instead.`,
      nav: 'keys',
      status: problems.length > 0 ? 422 : 200,
      body: html`${made === undefined ? nothing : html`<div class="notice done" role="status"><p><strong>This is the key.</strong> It is shown only now; keep it where your server reads its secrets.</p>${copyable(made, 'API key')}</div>`}
${rows.length === 0 ? emptyState('keys', 'No keys yet', 'Make the first one below.') : table('API keys', [{ text: 'Name' }, { text: 'Permissions' }, { text: 'Expires' }, { text: 'Made' }, { text: 'Actions', hidden: true }], cells)}
${card(
  'Make a key',
  saveForm(
    context,
    path('/settings/keys'),
    html`${form.summary()}<div class="columns">${form.input('name', { label: 'Name', required: true, hint: 'Where it is used, such as “checkout server”.' })}${form.input('expires_at', { label: 'Expires', type: 'datetime-local', hint: `Empty: never. ${publisher.timeZone} time.` })}</div>
${form.checks('permissions', { label: 'What it may do', choices: grantable.map((one) => ({ value: one, text: `${one} – ${meanings[one]}` })) })}`,
    { button: 'Make a key' },
  ),
)}`,
    };
  }
}
