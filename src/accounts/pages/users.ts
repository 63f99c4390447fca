import { publisherPages } from '../../catalog/pages.ts';
import { transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { ReaderLanguage } from '../../platform/i18n/languages.ts';
import { t } from '../../platform/i18n/messages.ts';
import { Problem } from '../../platform/problem.ts';
import { type Fields, type PageContext, pathText, queryText, type User } from '../../shell/context.ts';
import type { Page } from '../../shell/layout.ts';
import { commonPages, type PageResult } from '../../shell/pages.ts';
import { findAdvertiser } from '../advertisers.ts';
import { belongsElsewhere, changeMember, isLastAdmin, listMembers, removeMember } from '../memberships.ts';
import { covers, roleLabel } from '../roles.ts';
import { endSessionsOf } from '../sessions.ts';
import { accountView, auditAccount } from '../sign-in/account-audit.ts';
import { invitationMail, resetMail, sendMail } from '../sign-in/account-mails.ts';
import { countMail } from '../sign-in/mail-limit.ts';
import { createInvitation, createPasswordReset } from '../sign-in/one-time-links.ts';
import { removeTwoFactor } from '../two-factor.ts';
import { createUser, findMember, parseEmail } from '../users.ts';
import type { PageServices } from './services.ts';
import { choicesOf, chosenIn, pathOf, roleValue, type UserListState, type UserScope, usersPage } from './user-list.ts';

/**
 * Registers the user pages. Users are invited with a one-time link, which is sent by e-mail, or shown once if e-mail is
 * not configured.
 */
export function userPages(app: App, services: PageServices): void {
  registerScope(services, {
    pages: publisherPages(app, services),
    path: '/settings/users',
    nav: 'users',
    requires: 'admin',
    title: 'nav.users',
    roles: [
      { value: 'analyst', text: 'account.roleAnalyst' },
      { value: 'manager', text: 'account.roleManager' },
      { value: 'admin', text: 'account.roleAdmin' },
    ],
    hasOwnRoles: true,
    publisherIdOf: ({ publisher }) => publisher.id,
  });
  registerScope(services, {
    pages: commonPages(app, services),
    path: '/operator/users',
    nav: 'operators',
    requires: 'operator',
    title: 'nav.operators',
    roles: [{ value: 'operator', text: 'account.roleOperator' }],
    publisherIdOf: () => null,
  });
  registerScope(services, {
    pages: publisherPages(app, services),
    path: '/advertisers/:key/users',
    nav: 'advertisers',
    requires: 'admin',
    title: 'account.advertiserUsers',
    roles: [{ value: 'advertiser', text: 'account.roleAdvertiser' }],
    publisherIdOf: ({ publisher }) => publisher.id,
    isOfAdvertiser: true,
  });
}

/**
 * Returns the owner of the members that a page manages. Advertiser accounts do not belong to a publisher, but their
 * changes are recorded in the audit log of the publisher in the URL.
 * @throws AppError `not_found`, including for advertisers of other publishers
 */
async function ownerOf<C extends PageContext>(
  { deps }: PageServices,
  { publisherIdOf, isOfAdvertiser }: UserScope<C>,
  context: C,
): Promise<{ publisherId: number | null; advertiserId: number | null }> {
  const publisherId = publisherIdOf(context);
  if (isOfAdvertiser !== true) return { publisherId, advertiserId: null };
  const key = pathText(context, 'key');
  const advertiser = /^[1-9]\d{0,8}$/.test(key) ? await findAdvertiser(deps.pool, Number(key)) : null;
  if (advertiser === null || advertiser.publisherId !== publisherId) throw new AppError('not_found');
  return { publisherId: null, advertiserId: advertiser.id };
}

/** Returns the audit log entry for a member change, for the log of the publisher in the URL. */
const changeOf = <C extends PageContext>(
  { management, deps }: PageServices,
  { publisherIdOf }: UserScope<C>,
  context: C,
  { email }: User,
) => ({
  actor: management.actorOf(context),
  user: { email, publisherId: publisherIdOf(context) },
  nowMs: deps.now(),
});

function registerScope<C extends PageContext>(services: PageServices, scope: UserScope<C>): void {
  const { pages, path, requires } = scope;
  pages.get(path, requires, (context) => show(services, scope, context));
  const post = (rest: string, act: (context: C, fields: Fields) => Promise<PageResult>): void =>
    pages.post(path + rest, requires, act, { isSensitive: true });
  post('', (context, fields) => invite(services, scope, context, fields));
  post('/:userId/link', (context) => createLink(services, scope, context));
  post('/:userId/two-factor/remove', (context) => removeSecondFactor(services, scope, context));
  post('/:userId/remove', (context) => remove(services, scope, context));
  post('/:userId', (context, fields) => change(services, scope, context, fields));
}

async function show<C extends PageContext>(
  services: PageServices,
  scope: UserScope<C>,
  context: C,
  state: UserListState = {},
): Promise<Page> {
  const { pool, config } = services.deps;
  const owner = await ownerOf(services, scope, context);
  const queryValue = (name: string): string => queryText(context, name).trim().replaceAll('\0', '');
  const [q, after] = [queryValue('q'), queryValue('after')];
  const members = await listMembers(pool, owner, { q, after, limit: usersPerPage + 1 });
  const users = members.slice(0, usersPerPage);
  const next = members.length > usersPerPage ? (users.at(-1)?.email ?? null) : null;
  const roles = await choicesOf(services, scope, context);
  const page = usersPage(context, scope, { users, roles, q, after, next }, { ...state, ...config });
  const advertiser = owner.advertiserId === null ? null : await findAdvertiser(pool, owner.advertiserId);
  if (advertiser === null) return page;
  const path = context.path('/advertisers');
  const own = { text: advertiser.name, href: `${path}/${advertiser.id}` };
  return { ...page, trail: [{ text: t('nav.advertisers'), href: path }, own] };
}

const usersPerPage = 50;

async function invite<C extends PageContext>(
  services: PageServices,
  scope: UserScope<C>,
  context: C,
  fields: Fields,
): Promise<Page> {
  const { pool, now } = services.deps;
  const email = parseEmail(fields.text('email'));
  const roles = await choicesOf(services, scope, context);
  const typedRole = fields.text('role');
  const role = (typedRole === '' ? roles[0] : chosenIn(roles, fields))?.role;
  const refuse = (message: string, path = '/email'): Promise<Page> =>
    show(services, scope, context, { email: fields.text('email'), role: typedRole, errors: [{ path, message }] });
  if (email === null) return refuse(t('common.invalidEmail'));
  if (roles.length === 0) throw new AppError('permission_denied', { message: new Problem('errors.roleDenied') });
  if (role === undefined) return refuse(t('account.unknownRole'), '/role');
  if (!(await mayMail(services, scope, context))) return show(services, scope, context, { tooManyMails: true });
  const owner = await ownerOf(services, scope, context);
  const token = await transaction(pool, async (executor) => {
    const created = { email, role, ...owner, passwordHash: null, nowMs: now() };
    const user = await createUser(executor, created);
    if (user === null) return null;
    const change = { ...changeOf(services, scope, context, user), action: 'create' } as const;
    await auditAccount(executor, change, null, accountView(user));
    return createInvitation(executor, user, now());
  });
  // Do not reveal users of other publishers. An address that already has an account is invited like any other. Only the
  // owner of the address sees the difference after opening the link.
  if (token === null) return refuse(t('account.inList'));
  return deliver(services, scope, context, { email, token, isNew: true, language: null });
}

/** Returns whether another e-mail may be sent this hour. Always true if e-mail is not configured. */
async function mayMail<C extends PageContext>(
  { deps: { pool, mailer, config, now } }: PageServices,
  { publisherIdOf }: UserScope<C>,
  context: C,
): Promise<boolean> {
  if (mailer === null || !config.passwordSignIn) return true;
  return countMail(pool, config.userPepper, publisherIdOf(context), now());
}

type Link = { email: string; token: string; isNew: boolean; language: ReaderLanguage | null };

/**
 * Sends a link by e-mail. If SMTP is not configured or the server refuses the e-mail, the page shows the link instead.
 */
async function deliver<C extends PageContext>(
  services: PageServices,
  scope: UserScope<C>,
  context: C,
  { isNew, language, ...link }: Link,
): Promise<Page> {
  const { mailer, config } = services.deps;
  if (!config.passwordSignIn) return show(services, scope, context, { addedEmail: link.email });
  if (mailer === null) return show(services, scope, context, { link: { ...link, isNew } });
  const mail = isNew
    ? invitationMail({ ...link, publicUrl: config.publicUrl })
    : resetMail({ ...link, publicUrl: config.publicUrl }, language);
  const isSent = await sendMail(services.deps, mailer, mail);
  return show(
    services,
    scope,
    context,
    isSent ? { mailedTo: link.email } : { link: { ...link, isNew, isUnsent: true } },
  );
}

async function createLink<C extends PageContext>(
  services: PageServices,
  scope: UserScope<C>,
  context: C,
): Promise<Page> {
  const { pool, now } = services.deps;
  const user = await userOf(services, scope, context);
  const isNew = !user.hasJoined;
  if (user.disabled || (user.isLinked && !isNew) || !services.deps.config.passwordSignIn)
    throw new AppError('not_found');
  if (!isNew && !(await mayHelpSigningIn(services, context, user)))
    return show(services, scope, context, { belongsElsewhere: true });
  if (!(await mayMail(services, scope, context))) return show(services, scope, context, { tooManyMails: true });
  const token = await transaction(pool, async (executor) => {
    const change = { ...changeOf(services, scope, context, user), action: 'update' } as const;
    await auditAccount(executor, change, null, { password_link: 'created' });
    return isNew ? createInvitation(executor, user, now()) : createPasswordReset(executor, user.id, now());
  });
  return deliver(services, scope, context, {
    email: user.email,
    token,
    isNew,
    language: isNew ? null : user.language,
  });
}

/**
 * Returns whether the viewer may reset a user's sign-in. If the user has access to another publisher, only operators
 * may, because the admins of one publisher could otherwise gain access to another.
 */
const mayHelpSigningIn = async ({ deps }: PageServices, { viewer }: PageContext, user: User): Promise<boolean> =>
  viewer.user.role === 'operator' || !(await belongsElsewhere(deps.pool, user));

/** Removes the second factor of a user who has lost both their phone and their recovery codes. */
async function removeSecondFactor<C extends PageContext>(
  services: PageServices,
  scope: UserScope<C>,
  context: C,
): Promise<PageResult> {
  const { pool } = services.deps;
  const user = await userOf(services, scope, context);
  const to = pathOf(scope, context);
  if (user.id === context.viewer.user.id) return { to, failed: t('account.ownTwoFactor') };
  if (!(await mayHelpSigningIn(services, context, user))) return { to, failed: t('account.askOperator') };
  await transaction(pool, async (executor) => {
    await removeTwoFactor(executor, user.id);
    await endSessionsOf(executor, user.id);
    if (!user.hasTwoFactor) return;
    const change = { ...changeOf(services, scope, context, user), action: 'update' } as const;
    await auditAccount(executor, change, { two_factor: 'on' }, { two_factor: 'removed' });
  });
  return { to, done: t('account.twoFactorRemoved', { email: user.email }) };
}

async function change<C extends PageContext>(
  services: PageServices,
  scope: UserScope<C>,
  context: C,
  fields: Fields,
): Promise<PageResult> {
  const { pool } = services.deps;
  const user = await userOf(services, scope, context);
  const to = pathOf(scope, context);
  if (user.id === context.viewer.user.id) return { to, failed: t('account.notYourself') };
  const disabled = fields.text('disabled') === 'yes';
  const isKept = ['', roleValue(user.role)].includes(fields.text('role'));
  const role = isKept ? user.role : chosenIn(await choicesOf(services, scope, context), fields)?.role;
  if (role === undefined) return { to, failed: t('account.unknownRole') };
  const [was, is] = [roleLabel(user.role), roleLabel(role)];
  const isRefused = await transaction(pool, async (executor) => {
    if ((disabled || is !== was) && (await isLastAdmin(executor, user))) return true;
    await changeMember(executor, user, { role, disabled });
    if (is === was && disabled === user.disabled) return false;
    const change = { ...changeOf(services, scope, context, user), action: 'update' } as const;
    await auditAccount(executor, change, { role: was, disabled: user.disabled }, { role: is, disabled });
    return false;
  });
  if (isRefused) return { to, failed: t('account.lastAdmin') };
  return { to, done: t(disabled ? 'account.userDisabled' : 'account.userUpdated', { email: user.email }) };
}

/** Removes a member, or withdraws an invitation. */
async function remove<C extends PageContext>(
  services: PageServices,
  scope: UserScope<C>,
  context: C,
): Promise<PageResult> {
  const { pool } = services.deps;
  const user = await userOf(services, scope, context);
  const to = pathOf(scope, context);
  if (user.id === context.viewer.user.id) return { to, failed: t('account.notYourself') };
  const isRefused = await transaction(pool, async (executor) => {
    if (await isLastAdmin(executor, user)) return true;
    await removeMember(executor, user);
    const change = { ...changeOf(services, scope, context, user), action: 'remove' } as const;
    await auditAccount(executor, change, accountView(user), null);
    return false;
  });
  if (isRefused) return { to, failed: t('account.lastAdmin') };
  return { to, done: t('account.userRemoved', { email: user.email }) };
}

/**
 * Returns the member in the URL. The viewer cannot manage members who have more permissions than the viewer, because a
 * password reset link would give the viewer those permissions.
 * @throws AppError `not_found`, including for users of other publishers; `permission_denied`
 */
async function userOf<C extends PageContext>(services: PageServices, scope: UserScope<C>, context: C): Promise<User> {
  const id = pathText(context, 'userId');
  const { publisherId, advertiserId } = await ownerOf(services, scope, context);
  const { pool } = services.deps;
  const user = /^[1-9]\d{0,8}$/.test(id) ? await findMember(pool, publisherId, Number(id), advertiserId) : null;
  if (user === null) throw new AppError('not_found');
  if (!covers(context.viewer.user.role, user.role, services.management.permissions))
    throw new AppError('permission_denied', { message: new Problem('account.beyondYou') });
  return user;
}
