import type { Config } from '../../../config.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { linkPath } from '../../auth/one-time-links.ts';
import type { Role, User } from '../../auth/users.ts';
import { actionButton, csrfField, hiddenField, saveForm } from '../../shell/actions.ts';
import { badge, card, copyable, notice, table } from '../../shell/components.ts';
import type { PageContext } from '../../shell/context.ts';
import type { FieldErrors } from '../../shell/fields.ts';
import { moment, utc } from '../../shell/format.ts';
import { columns, createForm, optionsOf } from '../../shell/forms.ts';
import type { NavKey, Page } from '../../shell/layout.ts';
import type { Pages } from '../../shell/pages.ts';

/** Whose users a page manages: those of a publisher, by its admins, or the operators. */
export type UserScope<C extends PageContext> = {
  pages: Pages<C>;
  path: string;
  nav: NavKey;
  requires: Role;
  title: string;
  /** Roles users of the scope can have, lowest first. */
  roles: readonly { value: Role; text: string }[];
  publisherIdOf: (context: C) => number | null;
};

export type UserListState = {
  email?: string;
  role?: string;
  errors?: FieldErrors;
  /** A link that was just created. */
  link?: { email: string; token: string; isNew: boolean; isUnsent?: boolean };
  /** Who was sent a link just now. */
  mailedTo?: string;
  /** Who was added just now and needs no link. */
  addedEmail?: string;
};

export function usersPage<C extends PageContext>(
  context: C,
  scope: UserScope<C>,
  users: readonly User[],
  state: UserListState & Pick<Config, 'publicUrl' | 'passwordSignIn'>,
): Page {
  const { link, mailedTo, addedEmail, errors = [], publicUrl, passwordSignIn } = state;
  return {
    title: scope.title,
    lead: passwordSignIn
      ? 'Each user has their own account. Users are invited by a one-time link.'
      : 'Each user has their own account, and signs in with single sign-on.',
    nav: scope.nav,
    status: errors.length > 0 ? 422 : 200,
    body: html`
      ${link?.isUnsent && notice('failed', html`<p>The mail could not be sent. The log has the reason.</p>`)}
      ${link !== undefined && linkNotice(link, `${publicUrl}${linkPath}${link.token}`)}
      ${mailedTo !== undefined && notice('done', html`<p>A mail with a one-time link was sent to ${mailedTo}.</p>`)}
      ${addedEmail !== undefined && notice('done', html`<p>${addedEmail} can now sign in with single sign-on.</p>`)}
      ${userTable(context, scope, users, passwordSignIn)}
      ${card('Invite user', inviteForm(context, scope, state))}`,
  };
}

const linkNotice = ({ email, isNew }: { email: string; isNew: boolean }, link: string): Html =>
  notice(
    'done',
    html`
      <p><strong>Send this link to ${email}.</strong> It works once, for ${lifetime(isNew)}, and is shown only now.</p>
      ${copyable(link, 'one-time link')}`,
  );

const lifetime = (isNew: boolean): string => (isNew ? '7 days' : 'one hour');

function inviteForm<C extends PageContext>(
  context: C,
  { path, roles }: UserScope<C>,
  { email = '', role = '', errors }: UserListState,
): Html {
  const form = createForm({ email, role }, errors);
  const fields = columns([
    form.input('email', { label: 'E-mail address', type: 'email', required: true, autocomplete: 'off' }),
    form.select('role', { label: 'Role', choices: roles }),
  ]);
  return saveForm(context, context.path(path), fields, { button: 'Invite' });
}

const tableColumns = [
  { text: 'E-mail address' },
  { text: 'Role' },
  { text: 'Status' },
  { text: 'Created' },
  { text: 'Actions', hidden: true },
];

function userTable<C extends PageContext>(
  context: C,
  scope: UserScope<C>,
  users: readonly User[],
  passwordSignIn: boolean,
): Html {
  const rows = users.map((user) => {
    const isSelf = user.id === context.viewer.user.id;
    return [
      html`<strong>${user.email}</strong>${isSelf && html` <span class="hint">you</span>`}`,
      isSelf || scope.roles.length === 1 ? user.role : roleForm(context, scope, user),
      statusBadge(user),
      moment(utc, user.createdAt, 'day'),
      isSelf ? nothing : html`<div class="row-actions">${buttons(context, scope.path, user, passwordSignIn)}</div>`,
    ];
  });
  return table(scope.title, tableColumns, rows);
}

function statusBadge({ disabled, hasPassword, hasTwoFactor, isLinked }: User): Html {
  if (disabled) return badge('Disabled', 'bad');
  if (!hasPassword && !isLinked) return badge('Invited', 'warn');
  return html`
    ${badge('Active', 'good')}
    ${isLinked && badge('Single sign-on')}
    ${hasTwoFactor && badge('Two-factor')}`;
}

function buttons(context: PageContext, path: string, user: User, passwordSignIn: boolean): Html {
  const to = context.path(`${path}/${user.id}`);
  const small = true;
  if (user.disabled) return actionButton(context, { to, text: 'Enable', small, values: { role: user.role } });
  const linkText = user.hasPassword ? 'Reset password' : 'New invite link';
  return html`
    ${
      passwordSignIn &&
      !user.isLinked &&
      actionButton(context, { to: `${to}/link`, text: linkText, small, kind: 'quiet' })
    }
    ${
      user.hasTwoFactor &&
      actionButton(context, {
        to: `${to}/two-factor/remove`,
        text: 'Remove two-factor',
        small,
        kind: 'quiet',
        confirm: `${user.email} will be signed out everywhere, and can then sign in without a code.`,
      })
    }
    ${actionButton(context, {
      to,
      text: 'Disable',
      small,
      kind: 'quiet',
      values: { role: user.role, disabled: 'yes' },
      confirm: `${user.email} will be signed out everywhere and cannot sign in until enabled again.`,
    })}`;
}

function roleForm<C extends PageContext>(context: C, { path, roles }: UserScope<C>, user: User): Html {
  const choices = roles.map(({ value }) => ({ value, text: value }));
  return html`
    <form method="post" action="${context.path(`${path}/${user.id}`)}" class="inline">
      ${csrfField(context.viewer)}${user.disabled && hiddenField('disabled', 'yes')}
      <select name="role" aria-label="Role of ${user.email}">${optionsOf(choices, user.role)}</select>
      <button class="button small quiet">Change</button>
    </form>`;
}
