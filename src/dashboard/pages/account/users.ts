import { transaction } from '../../../platform/db/pool.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { accountView, auditAccount } from '../../auth/account-log.ts';
import { createInvitation, linkPath } from '../../auth/links.ts';
import {
  changeUser,
  createUser,
  findUser,
  isRole,
  listUsers,
  type Role,
  readEmail,
  type User,
} from '../../auth/users.ts';
import { actionButton, badge, card, copyable, saveForm, table } from '../../shell/components.ts';
import type { Context } from '../../shell/context.ts';
import { moment, utc } from '../../shell/format.ts';
import { createForm, type Fields, type Problems } from '../../shell/forms.ts';
import type { NavKey, Page } from '../../shell/layout.ts';
import { actorOf } from '../../shell/management.ts';
import { commonPages, type Outcome, type Pages, publisherPages, type Tools } from '../../shell/pages.ts';

const publisherRoles: readonly { value: Role; text: string }[] = [
  { value: 'analyst', text: 'Analyst – reads everything' },
  { value: 'manager', text: 'Manager – also edits offers and campaigns' },
  { value: 'admin', text: 'Admin – also settings, keys, webhooks and users' },
];
const operatorRoles: typeof publisherRoles = [{ value: 'operator', text: 'Operator – everything, of all publishers' }];

/** Whose users a page manages: a publisher's (by its admins), or the operators (by operators). */
type Place<C extends Context> = {
  pages: Pages<C>;
  path: string;
  nav: NavKey;
  needs: Role;
  title: string;
  roles: typeof publisherRoles;
  publisherIdOf: (context: C) => number | null;
};

/** Users are invited by a link that is shown once; no e-mail is sent. */
export function userPages(app: App, tools: Tools): void {
  register(tools, {
    pages: publisherPages(app, tools),
    path: '/settings/users',
    nav: 'users',
    needs: 'admin',
    title: 'Users',
    roles: publisherRoles,
    publisherIdOf: ({ publisher }) => publisher.id,
  });
  register(tools, {
    pages: commonPages(app, tools),
    path: '/operator/users',
    nav: 'operators',
    needs: 'operator',
    title: 'Operators',
    roles: operatorRoles,
    publisherIdOf: () => null,
  });
}

function register<C extends Context>({ deps }: Tools, place: Place<C>): void {
  const { pool, now, config } = deps;
  const { pages, path, needs, roles, publisherIdOf } = place;

  const show = async (
    context: C,
    state: { email?: string; role?: string; problems?: Problems; link?: { email: string; token: string } } = {},
  ): Promise<Page> => ({
    title: place.title,
    lead: 'Everybody has an account of their own. Invite people with a link that works once.',
    nav: place.nav,
    status: (state.problems ?? []).length > 0 ? 422 : 200,
    body: html`${state.link === undefined ? nothing : invitation(state.link.email, `${config.publicUrl}${linkPath}${state.link.token}`)}
${userTable(context, place, await listUsers(pool, publisherIdOf(context)))}
${card('Invite somebody', inviteForm(context, place, state))}`,
  });

  /** @throws AppError `not_found`, also for users of others */
  async function userOf(context: C): Promise<User> {
    const { userId = '' } = context.request.params as { userId?: string };
    const user = /^[1-9]\d{0,8}$/.test(userId) ? await findUser(pool, publisherIdOf(context), Number(userId)) : null;
    if (user === null) throw new AppError('not_found');
    return user;
  }

  pages.get(path, needs, (context) => show(context));

  pages.post(path, needs, async (context, fields) => {
    const email = readEmail(fields.text('email'));
    const role = roleOf(fields, roles);
    const typed = { email: fields.text('email'), role: fields.text('role') };
    if (email === null)
      return show(context, { ...typed, problems: [{ path: '/email', message: 'This is no e-mail address.' }] });
    const invited = await transaction(pool, async (executor) => {
      const user = await createUser(executor, {
        email,
        role,
        publisherId: publisherIdOf(context),
        passwordHash: null,
        nowMs: now(),
      });
      if (user === null) return null;
      await auditAccount(
        executor,
        { actor: actorOf(context), user, action: 'create', nowMs: now() },
        null,
        accountView(user),
      );
      return createInvitation(executor, user.id, now());
    });
    // The same words whether the account is of this publisher or another: nobody learns who else is here.
    if (invited === null)
      return show(context, { ...typed, problems: [{ path: '/email', message: 'This address cannot be invited.' }] });
    return show(context, { link: { email, token: invited } });
  });

  pages.post(`${path}/:userId/link`, needs, async (context) => {
    const user = await userOf(context);
    if (user.disabled) throw new AppError('not_found');
    const token = await transaction(pool, async (executor) => {
      const happening = { actor: actorOf(context), user, action: 'update', nowMs: now() } as const;
      await auditAccount(executor, happening, null, { password_link: 'made' });
      return createInvitation(executor, user.id, now());
    });
    return show(context, { link: { email: user.email, token } });
  });

  pages.post(`${path}/:userId`, needs, async (context, fields): Promise<Outcome> => {
    const user = await userOf(context);
    const to = context.path(path);
    if (user.id === context.viewer.user.id)
      return { to, failed: 'Nobody changes their own role or disables themselves.' };
    const disabled = fields.text('disabled') === 'yes';
    const role = roleOf(fields, roles, user.role);
    await transaction(pool, async (executor) => {
      await changeUser(executor, user.id, { role, disabled });
      if (role === user.role && disabled === user.disabled) return;
      const happening = { actor: actorOf(context), user, action: 'update', nowMs: now() } as const;
      await auditAccount(executor, happening, { role: user.role, disabled: user.disabled }, { role, disabled });
    });
    return { to, done: disabled ? `${user.email} is disabled and signed out.` : `${user.email} is changed.` };
  });
}

function roleOf(fields: Fields, allowed: typeof publisherRoles, otherwise?: Role): Role {
  const name = fields.text('role');
  if (isRole(name) && allowed.some(({ value }) => value === name)) return name;
  return otherwise ?? (allowed[0] as { value: Role }).value;
}

const invitation = (email: string, link: string): Html =>
  html`<div class="notice done" role="status"><p><strong>Send this link to ${email}.</strong> It works once, for seven days, and is shown only now.</p>${copyable(link, 'one-time link')}</div>`;

function inviteForm<C extends Context>(
  context: C,
  { path, roles }: Place<C>,
  { email = '', role = '', problems = [] }: { email?: string; role?: string; problems?: Problems },
): Html {
  const f = createForm({ email, role }, problems);
  return saveForm(
    context,
    context.path(path),
    html`<div class="columns">${f.input('email', { label: 'E-mail address', type: 'email', required: true, autocomplete: 'off' })}${f.select('role', { label: 'Role', choices: roles })}</div>`,
    { button: 'Make a link' },
  );
}

function userTable<C extends Context>(context: C, { path, title, roles }: Place<C>, users: readonly User[]): Html {
  const rows = users.map((user) => {
    const self = user.id === context.viewer.user.id;
    return [
      html`<strong>${user.email}</strong>${self ? html` <span class="hint">you</span>` : nothing}`,
      self || roles.length === 1 ? user.role : roleForm(context, path, roles, user),
      user.disabled ? badge('Disabled', 'bad') : user.hasPassword ? badge('Active', 'good') : badge('Invited', 'warn'),
      moment(utc, user.createdAt, 'day'),
      self ? nothing : html`<div class="row-actions">${buttons(context, path, user)}</div>`,
    ];
  });
  return table(
    title,
    [
      { text: 'E-mail address' },
      { text: 'Role' },
      { text: 'State' },
      { text: 'Since' },
      { text: 'Actions', hidden: true },
    ],
    rows,
  );
}

const buttons = (context: Context, path: string, user: User): Html =>
  user.disabled
    ? actionButton(context, {
        to: context.path(`${path}/${user.id}`),
        text: 'Enable',
        small: true,
        values: { role: user.role },
      })
    : html`${actionButton(context, { to: context.path(`${path}/${user.id}/link`), text: user.hasPassword ? 'Password link' : 'New link', small: true, kind: 'quiet' })}${actionButton(context, { to: context.path(`${path}/${user.id}`), text: 'Disable', small: true, kind: 'quiet', values: { role: user.role, disabled: 'yes' }, confirm: `${user.email} is signed out everywhere and cannot sign in again until enabled.` })}`;

const roleForm = (context: Context, path: string, roles: typeof publisherRoles, user: User): Html =>
  html`<form method="post" action="${context.path(`${path}/${user.id}`)}" class="inline"><input type="hidden" name="_csrf" value="${context.viewer.csrf}">${user.disabled ? html`<input type="hidden" name="disabled" value="yes">` : nothing}<select name="role" aria-label="Role of ${user.email}">${roles.map(({ value }) => html`<option value="${value}"${value === user.role && html` selected`}>${value}</option>`)}</select><button class="button small quiet">Set</button></form>`;
