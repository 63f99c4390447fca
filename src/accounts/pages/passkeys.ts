import { transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { card, csrfField, linkButton, saveForm, table } from '../../shell/components.ts';
import { type FieldErrors, type Fields, type PageContext, pathText } from '../../shell/context.ts';
import { moment, utc } from '../../shell/format.ts';
import { createForm } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { commonPages, type PageResult } from '../../shell/pages.ts';
import { addPasskey, beginAdding, listPasskeys, maxPasskeys, type Passkey, removePasskey } from '../passkeys.ts';
import { endOtherSessions } from '../sessions.ts';
import { auditAccount } from '../sign-in/account-audit.ts';
import { createSignIn, type SignIn } from '../sign-in/sign-in.ts';
import { countRecoveryCodes, dropUnusedCodes, isTwoFactorRequired, replaceRecoveryCodes } from '../two-factor.ts';
import { isConfirmed } from './confirmation.ts';
import { currentPasswordError, currentPasswordField } from './current-password.ts';
import { passkeyFields } from './passkey-form.ts';
import type { PageServices } from './services.ts';
import { recoveryCodesPage } from './two-factor-views.ts';

const path = '/account/passkeys';
const maxNameLength = 80;

/** Registers the pages on which users add and remove passkeys. */
export function passkeyPages(app: App, services: PageServices): void {
  const signIn = createSignIn(services.deps);
  const pages = commonPages(app, services);
  pages.get(path, 'advertiser', (context) => show(services, context));
  pages.post(path, 'advertiser', (context, fields) => add(services, signIn, context, fields));
  pages.post(`${path}/:id/remove`, 'advertiser', (context) => remove(services, signIn, context));
}

/** Renders the account page's card with the number of passkeys. */
export async function passkeysCard({ deps }: PageServices, context: PageContext): Promise<Html> {
  const count = (await listPasskeys(deps.pool, context.viewer.user.id)).length;
  return card(t('account.passkeys'), html`<p>${t('account.passkeyCount', { count })}</p>`, {
    lead: t('account.passkeysLead'),
    actions: linkButton(context.path(path), t('account.manage')),
  });
}

async function show({ deps }: PageServices, context: PageContext, errors: FieldErrors = [], name = ''): Promise<Page> {
  const { user } = context.viewer;
  const passkeys = await listPasskeys(deps.pool, user.id);
  const ceremony = await beginAdding(deps, deps.pool, user);
  const form = createForm({ name }, errors);
  const fields = html`
    ${form.summary()}
    ${form.input('name', { label: t('common.name'), required: true, hint: t('account.passkeyNameHint') })}
    ${user.hasPassword && currentPasswordField(form)}
    ${passkeyFields(ceremony)}`;
  return {
    title: t('account.passkeys'),
    nav: 'account',
    trail: [{ text: t('common.account'), href: '/dashboard/account' }],
    status: errors.length > 0 ? 422 : 200,
    assets: ['passkeys.js'],
    body: html`
      ${passkeys.length > 0 && listCard(context, passkeys)}
      ${card(
        t('account.addPasskey'),
        saveForm(context, context.path(path), fields, {
          button: t('account.addPasskey'),
          attributes: html` data-passkey="${ceremony.options}" data-call="create"`,
        }),
        { lead: t('account.passkeysLead') },
      )}`,
  };
}

/** Renders the passkeys in a single form with one password field, because removing a passkey requires the password. */
function listCard(context: PageContext, passkeys: readonly Passkey[]): Html {
  const columns = [
    { text: t('common.name') },
    { text: t('account.created') },
    { text: t('account.lastUsed') },
    { text: t('common.actions'), hidden: true },
  ];
  const rows = passkeys.map(({ id, name, createdAt, lastUsedAt }) => [
    html`<strong>${name}</strong>`,
    moment(utc, createdAt, 'day'),
    lastUsedAt === null ? html`–` : moment(utc, lastUsedAt),
    html`
      <div class="row-actions">
        <button class="button small quiet" formaction="${context.path(`${path}/${id}/remove`)}">
          ${t('common.remove')}
        </button>
      </div>`,
  ]);
  return card(
    t('account.passkeys'),
    html`
      <form method="post" class="form">
        ${csrfField(context.viewer)}
        ${table(t('account.passkeys'), columns, rows)}
        ${context.viewer.user.hasPassword && currentPasswordField(createForm({}))}
      </form>`,
  );
}

/**
 * Checks the password. Users without a password, who sign in at a provider or with a passkey, need a recent
 * confirmation instead.
 */
async function proofError(
  { deps }: PageServices,
  signIn: SignIn,
  context: PageContext,
): Promise<FieldErrors[number] | null> {
  if (context.viewer.user.hasPassword) return currentPasswordError(signIn, context);
  return isConfirmed(context.viewer, deps.now()) ? null : { path: '/name', message: t('account.confirmFirst') };
}

async function add(services: PageServices, signIn: SignIn, context: PageContext, fields: Fields): Promise<PageResult> {
  const { deps } = services;
  const { user, sessionId } = context.viewer;
  const name = fields.text('name');
  const nameError = { path: '/name', message: t('account.passkeyNameHint') };
  const wrongName = name === '' || name.length > maxNameLength ? nameError : null;
  const error = wrongName ?? (await proofError(services, signIn, context));
  if (error !== null) return show(services, context, [error], name);
  const registration = { userId: user.id, name, sealed: fields.text('sealed'), response: fields.text('response') };
  const codes = await transaction(deps.pool, async (executor) => {
    if (!(await addPasskey(deps, executor, registration))) return null;
    await audit(services, context, executor, { passkey: '' }, { passkey: name });
    await endOtherSessions(executor, user.id, sessionId);
    return (await countRecoveryCodes(executor, user.id)) > 0 ? [] : replaceRecoveryCodes(executor, user.id);
  });
  const refused = { path: '/name', message: t('account.passkeyRefused', { max: maxPasskeys }) };
  if (codes === null) return show(services, context, [refused], name);
  return codes.length > 0
    ? recoveryCodesPage(codes)
    : { to: context.path(path), done: t('account.passkeyAdded', { name }) };
}

/**
 * Removes a passkey.
 * @throws AppError `not_found` if it does not exist or belongs to another user
 */
async function remove(services: PageServices, signIn: SignIn, context: PageContext): Promise<PageResult> {
  const { deps } = services;
  const { user } = context.viewer;
  const to = context.path(path);
  const passkeys = await listPasskeys(deps.pool, user.id);
  const passkey = passkeys.find(({ id }) => String(id) === pathText(context, 'id'));
  if (passkey === undefined) throw new AppError('not_found');
  const isLast = passkeys.length === 1 && !user.hasAuthenticatorApp;
  if (isLast && isTwoFactorRequired(deps.config, user)) return { to, failed: t('account.twoFactorRequired') };
  const error = await proofError(services, signIn, context);
  if (error !== null) return { to, failed: error.message };
  await transaction(deps.pool, async (executor) => {
    if ((await removePasskey(executor, user.id, passkey.id)) === null) throw new AppError('not_found');
    await dropUnusedCodes(executor, user.id);
    await audit(services, context, executor, { passkey: passkey.name }, { passkey: '' });
  });
  return { to, done: t('account.passkeyRemoved', { name: passkey.name }) };
}

async function audit(
  { deps, management }: PageServices,
  context: PageContext,
  executor: Parameters<typeof auditAccount>[0],
  before: { passkey: string },
  after: { passkey: string },
): Promise<void> {
  const { user } = context.viewer;
  const change = { actor: management.actorOf(context), user, action: 'update', nowMs: deps.now() } as const;
  await auditAccount(executor, change, before, after);
}
