import { type Html, html, nothing } from '../../platform/http/html.ts';
import { type MessageKey, t, tHtml } from '../../platform/i18n/messages.ts';
import {
  actionButton,
  badge,
  card,
  copyable,
  csrfField,
  hiddenField,
  noMatches,
  notice,
  pager,
  saveForm,
  table,
} from '../../shell/components.ts';
import {
  type FieldErrors,
  type Fields,
  type MemberRole,
  type PageContext,
  pathText,
  type Role,
  roleName,
  type User,
} from '../../shell/context.ts';
import { moment, utc } from '../../shell/format.ts';
import { columns, createForm, optionsOf } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import type { Pages } from '../../shell/pages.ts';
import { covers, listCustomRoles } from '../roles.ts';
import { maxMailsPerHour } from '../sign-in/mail-limit.ts';
import { linkPath } from '../sign-in/one-time-links.ts';
import type { PageServices } from './services.ts';

/** Users that a page manages: a publisher's users, an advertiser's users, or the operators. */
export type UserScope<C extends PageContext> = {
  pages: Pages<C>;
  path: string;
  nav: string;
  requires: Role;
  title: MessageKey;
  /** Roles available in this scope, lowest first. */
  roles: readonly { value: Role; text: MessageKey }[];
  /** Whether the publisher can have custom roles. */
  hasOwnRoles?: true;
  publisherIdOf: (context: C) => number | null;
  /** Set if the page manages the accounts of the advertiser in the URL. */
  isOfAdvertiser?: true;
};

/** Returns the path of a user page. It may contain the advertiser's ID. */
export const pathOf = <C extends PageContext>({ path }: { path: string }, context: C): string =>
  context.path(path.replace(/:(\w+)/, (_, name: string) => pathText(context, name)));

/** Role that the viewer may grant. `value` is used in forms, and `text` describes the role's permissions. */
export type RoleChoice = { role: MemberRole; value: string; text: string };

/** Returns the form value of a role. */
export const roleValue = (role: MemberRole): string => (typeof role === 'string' ? role : String(role.id));

/** Returns the roles that the viewer may grant. Roles with more permissions than the viewer's are excluded. */
export async function choicesOf<C extends PageContext>(
  { deps, management }: PageServices,
  { roles, hasOwnRoles, publisherIdOf }: UserScope<C>,
  context: C,
): Promise<RoleChoice[]> {
  const publisherId = publisherIdOf(context);
  const own = hasOwnRoles && publisherId !== null ? await listCustomRoles(deps.pool, publisherId) : [];
  return [
    ...roles.map(({ value, text }) => ({ role: value, value, text: t(text) })),
    ...own.map((role) => ({
      role,
      value: roleValue(role),
      text: t('account.roleOwn', { name: role.name, permissions: role.permissions.join(', ') }),
    })),
  ].filter(({ role }) => covers(context.viewer.user.role, role, management.permissions));
}

export const chosenIn = (roles: readonly RoleChoice[], fields: Fields): RoleChoice | undefined =>
  roles.find(({ value }) => value === fields.text('role'));

export type UserListState = {
  email?: string;
  role?: string;
  errors?: FieldErrors;
  /** One-time link that was just created. */
  link?: { email: string; token: string; isNew: boolean; isUnsent?: boolean };
  /** Address to which a link was just sent. */
  mailedTo?: string;
  /** Address of a user who was just added and does not need a link. */
  addedEmail?: string;
  /** Whether nothing was sent or created because the hourly e-mail limit is reached. */
  tooManyMails?: boolean;
  /** Whether nothing was created because the user also belongs to other publishers. */
  belongsElsewhere?: boolean;
};

/**
 * One page of users, filtered by part of the e-mail address. `next` is the last address on this page. The next page
 * starts after it.
 */
type UserList = {
  users: readonly User[];
  roles: readonly RoleChoice[];
  q: string;
  after: string;
  next: string | null;
};

/** Renders the search field, unless all users fit on one page. */
const userSearch = <C extends PageContext>(
  context: C,
  scope: UserScope<C>,
  { q, after, next }: UserList,
): Html | false =>
  (q !== '' || after !== '' || next !== null) &&
  html`
    <form class="filters" method="get" action="${pathOf(scope, context)}" role="search">
      ${createForm({ q }).input('q', { label: t('common.search') })}
      <button class="button">${t('common.apply')}</button>
    </form>`;

function userPager<C extends PageContext>(context: C, scope: UserScope<C>, { q, after, next }: UserList): Html {
  const url = (query: Record<string, string>): string =>
    `${pathOf(scope, context)}?${new URLSearchParams({ ...(q !== '' && { q }), ...query })}`;
  return pager(after === '' ? null : url({}), next === null ? null : url({ after: next }));
}

export function usersPage<C extends PageContext>(
  context: C,
  scope: UserScope<C>,
  list: UserList,
  state: UserListState & { publicUrl: string; passwordSignIn: boolean },
): Page {
  const { roles } = list;
  const { link, mailedTo, addedEmail, tooManyMails, errors = [], publicUrl, passwordSignIn } = state;
  return {
    title: t(scope.title),
    lead: t(passwordSignIn ? 'account.usersLead' : 'account.usersLeadSso'),
    nav: scope.nav,
    status: tooManyMails ? 429 : errors.length > 0 ? 422 : 200,
    body: html`
      ${tooManyMails && notice('failed', html`<p>${t('account.tooManyMails', { max: maxMailsPerHour })}</p>`)}
      ${state.belongsElsewhere && notice('failed', html`<p>${t('account.askOperator')}</p>`)}
      ${link?.isUnsent && notice('failed', html`<p>${t('account.mailFailed')}</p>`)}
      ${link !== undefined && linkNotice(link, `${publicUrl}${linkPath}${link.token}`)}
      ${mailedTo !== undefined && notice('done', html`<p>${t('account.mailSent', { email: mailedTo })}</p>`)}
      ${addedEmail !== undefined && notice('done', html`<p>${t('account.addedSso', { email: addedEmail })}</p>`)}
      ${userSearch(context, scope, list)}
      ${list.users.length > 0 && userTable(context, scope, list, passwordSignIn)}
      ${list.users.length === 0 && list.q !== '' && noMatches()}
      ${userPager(context, scope, list)}
      ${card(t('account.inviteUser'), inviteForm(context, scope, roles, state))}`,
  };
}

const linkNotice = ({ email, isNew }: { email: string; isNew: boolean }, link: string): Html =>
  notice(
    'done',
    html`
      <p>${tHtml(isNew ? 'account.sendInviteLink' : 'account.sendResetLink', { email })}</p>
      ${copyable(link, t('account.oneTimeLink'))}`,
  );

function inviteForm<C extends PageContext>(
  context: C,
  { path }: UserScope<C>,
  roles: readonly RoleChoice[],
  { email = '', role = '', errors }: UserListState,
): Html {
  const form = createForm({ email, role }, errors);
  const fields = columns([
    form.input('email', { label: t('common.email'), type: 'email', required: true, autocomplete: 'off' }),
    form.select('role', {
      label: t('account.role'),
      choices: roles.map(({ value, text }) => ({ value, text })),
    }),
  ]);
  return saveForm(context, pathOf({ path }, context), fields, { button: t('account.invite'), once: true });
}

const tableColumns = () => [
  { text: t('common.email') },
  { text: t('account.role') },
  { text: t('common.status') },
  { text: t('account.created') },
  { text: t('common.actions'), hidden: true },
];

function userTable<C extends PageContext>(
  context: C,
  scope: UserScope<C>,
  { users, roles }: UserList,
  passwordSignIn: boolean,
): Html {
  const rows = users.map((user) => {
    const isSelf = user.id === context.viewer.user.id;
    return [
      html`<strong>${user.email}</strong>${isSelf && html` <span class="hint">${t('account.you')}</span>`}`,
      isSelf || scope.roles.length === 1 || !mayGive(roles, user)
        ? roleName(user.role)
        : roleForm(context, scope, roles, user),
      statusBadge(user),
      moment(utc, user.createdAt, 'day'),
      isSelf || !mayGive(roles, user)
        ? nothing
        : html`<div class="row-actions">${buttons(context, scope.path, user, passwordSignIn)}</div>`,
    ];
  });
  return table(t(scope.title), tableColumns(), rows);
}

/** Returns whether the viewer may manage a user. Users with more permissions than the viewer are excluded. */
const mayGive = (roles: readonly RoleChoice[], { role }: User): boolean =>
  roles.some(({ value }) => value === roleValue(role));

function statusBadge({ disabled, hasJoined, hasTwoFactor, isLinked }: User): Html {
  if (disabled) return badge(t('common.disabled'), 'bad');
  if (!hasJoined) return badge(t('account.invited'), 'warn');
  return html`
    ${badge(t('account.active'), 'good')}
    ${isLinked && badge(t('account.singleSignOn'))}
    ${hasTwoFactor && badge(t('account.twoFactorBadge'))}`;
}

function buttons(context: PageContext, path: string, user: User, passwordSignIn: boolean): Html {
  const to = `${pathOf({ path }, context)}/${user.id}`;
  const { email, role, hasJoined, disabled } = user;
  const button = { small: true, kind: 'quiet' } as const;
  const remove = actionButton(context, {
    ...button,
    to: `${to}/remove`,
    text: t(hasJoined ? 'common.remove' : 'account.withdraw'),
    confirm: t(hasJoined ? 'account.removeUserQuestion' : 'account.withdrawQuestion', { email }),
  });
  if (disabled)
    return html`
      ${actionButton(context, { to, text: t('account.enable'), small: true, values: { role: roleValue(role) } })}
      ${remove}`;
  const linkText = t(hasJoined ? 'account.resetPassword' : 'account.newInviteLink');
  return html`
    ${
      passwordSignIn &&
      !(hasJoined && user.isLinked) &&
      actionButton(context, { ...button, to: `${to}/link`, text: linkText })
    }
    ${
      hasJoined &&
      user.hasTwoFactor &&
      actionButton(context, {
        ...button,
        to: `${to}/two-factor/remove`,
        text: t('account.removeTwoFactor'),
        confirm: t('account.removeTwoFactorQuestion', { email }),
      })
    }
    ${actionButton(context, {
      ...button,
      to,
      text: t('account.disable'),
      values: { role: roleValue(role), disabled: 'yes' },
      confirm: t('account.disableQuestion', { email }),
    })}
    ${remove}`;
}

function roleForm<C extends PageContext>(
  context: C,
  { path }: UserScope<C>,
  roles: readonly RoleChoice[],
  user: User,
): Html {
  const choices = roles.map(({ role, value }) => ({ value, text: roleName(role) }));
  return html`
    <form method="post" action="${pathOf({ path }, context)}/${user.id}" class="inline" data-keep>
      ${csrfField(context.viewer)}${user.disabled && hiddenField('disabled', 'yes')}
      <select name="role"
        aria-label="${t('account.roleOf', { email: user.email })}">
        ${optionsOf(choices, roleValue(user.role))}
      </select>
      <button class="button small quiet">${t('account.change')}</button>
    </form>`;
}
