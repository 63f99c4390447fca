import { transaction } from '../../platform/db/pool.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { badge, card, linkButton } from '../../shell/components.ts';
import type { FieldErrors, Fields, PageContext } from '../../shell/context.ts';
import type { Page } from '../../shell/layout.ts';
import { commonPages, type PageResult } from '../../shell/pages.ts';
import { twoFactorPath } from '../access.ts';
import { listPasskeys } from '../passkeys.ts';
import { endOtherSessions } from '../sessions.ts';
import { auditAccount } from '../sign-in/account-audit.ts';
import { type Attempts, createAttempts } from '../sign-in/attempts.ts';
import { createSignIn, type SignIn } from '../sign-in/sign-in.ts';
import {
  acceptCode,
  countRecoveryCodes,
  createSecret,
  isTwoFactorRequired,
  removeAuthenticatorApp,
  replaceRecoveryCodes,
  saveTwoFactor,
  stepOf,
} from '../two-factor.ts';
import { currentPasswordError } from './current-password.ts';
import type { PageServices } from './services.ts';
import { lockedMessage } from './sign-in.ts';
import { managePage, recoveryCodesPage, setUpPage } from './two-factor-views.ts';

/**
 * Returns the encryption context for the secret in the set-up form. The form contains the sealed secret, so that
 * nothing is stored until the user's first code proves that their app has the secret.
 */
const setUpContext = (userId: number): string => `totp-set-up:${userId}`;

type Guards = { signIn: SignIn; attempts: Attempts };

/** Registers the pages on which users turn the second factor on or off and generate new recovery codes. */
export function twoFactorPages(app: App, services: PageServices): void {
  const guards = { signIn: createSignIn(services.deps), attempts: createAttempts(services.deps, 'code') };
  const pages = commonPages(app, services);
  const path = twoFactorPath.replace('/dashboard', '');
  pages.get(path, 'advertiser', (context) => show(services, context));
  pages.post(path, 'advertiser', (context, fields) => turnOn(services, guards, context, fields));
  pages.post(`${path}/codes`, 'advertiser', (context, fields) => renewCodes(services, guards, context, fields));
  pages.post(`${path}/off`, 'advertiser', (context, fields) => turnOff(services, guards, context, fields));
}

/** Renders the account page's card with the state of the second factor. */
export async function twoFactorCard({ deps }: PageServices, context: PageContext): Promise<Html> {
  const { user } = context.viewer;
  const remainingCodes = user.hasTwoFactor ? await countRecoveryCodes(deps.pool, user.id) : 0;
  const state = user.hasTwoFactor
    ? html`<p>${badge(t('common.on'), 'good')} ${t('account.codesLeft', { count: remainingCodes })}</p>`
    : html`<p>${badge(t('common.off'), 'warn')} ${t('account.passwordAlone')}</p>`;
  return card(t('account.twoFactor'), state, {
    lead: t('account.twoFactorLead'),
    actions: linkButton(twoFactorPath, t(user.hasAuthenticatorApp ? 'account.manage' : 'account.setUp')),
  });
}

const isRequired = ({ deps }: PageServices, { viewer }: PageContext): boolean =>
  isTwoFactorRequired(deps.config, viewer.user);

function show(services: PageServices, context: PageContext, errors: FieldErrors = [], sealed = ''): Page {
  const required = isRequired(services, context);
  const { user } = context.viewer;
  if (user.hasAuthenticatorApp) return managePage(context, { errors, required });
  const { secretBox } = services.deps;
  const secret = sealed === '' ? createSecret() : openSetUp(services, user.id, sealed);
  const resealed = secretBox.seal(secret, setUpContext(user.id)).toString('base64url');
  return setUpPage(context, { errors, required, secret, sealed: resealed });
}

/** Returns the secret with which the set-up form was created. Returns a new secret if the form field was altered. */
function openSetUp({ deps: { secretBox } }: PageServices, userId: number, sealed: string): string {
  try {
    return secretBox.open(Buffer.from(sealed, 'base64url'), setUpContext(userId));
  } catch {
    return createSecret();
  }
}

async function turnOn(
  services: PageServices,
  guards: Guards,
  context: PageContext,
  fields: Fields,
): Promise<PageResult> {
  const { pool, secretBox, now } = services.deps;
  const { user, sessionId } = context.viewer;
  if (user.hasAuthenticatorApp) return { to: twoFactorPath };
  const secret = openSetUp(services, user.id, fields.text('setup'));
  const step = stepOf(secret, fields.text('code'), now());
  const error = (await passwordError(guards, context)) ?? (step === null ? wrongCode() : null);
  if (error !== null || step === null) return show(services, context, [error ?? wrongCode()], fields.text('setup'));
  const codes = await transaction(pool, async (executor) => {
    await saveTwoFactor(executor, secretBox, { userId: user.id, secret, step });
    await auditTwoFactor(services, context, executor, 'off', 'on');
    await endOtherSessions(executor, user.id, sessionId);
    return replaceRecoveryCodes(executor, user.id);
  });
  return recoveryCodesPage(codes);
}

async function renewCodes(
  services: PageServices,
  guards: Guards,
  context: PageContext,
  fields: Fields,
): Promise<PageResult> {
  const { user } = context.viewer;
  if (!user.hasAuthenticatorApp) return { to: twoFactorPath };
  const error = (await passwordError(guards, context)) ?? (await codeError(services, guards, context, fields));
  if (error !== null) return show(services, context, [error]);
  const codes = await transaction(services.deps.pool, async (executor) => {
    await auditTwoFactor(services, context, executor, 'recovery codes', 'new recovery codes');
    return replaceRecoveryCodes(executor, user.id);
  });
  return recoveryCodesPage(codes);
}

async function turnOff(
  services: PageServices,
  guards: Guards,
  context: PageContext,
  fields: Fields,
): Promise<PageResult> {
  const { user } = context.viewer;
  if (!user.hasAuthenticatorApp) return { to: twoFactorPath };
  const isLast = (await listPasskeys(services.deps.pool, user.id)).length === 0;
  if (isLast && isRequired(services, context)) return { to: twoFactorPath, failed: t('account.twoFactorRequired') };
  const error = (await passwordError(guards, context)) ?? (await codeError(services, guards, context, fields));
  if (error !== null) return show(services, context, [error]);
  await transaction(services.deps.pool, async (executor) => {
    await removeAuthenticatorApp(executor, user.id);
    await auditTwoFactor(services, context, executor, 'on', 'off');
  });
  return { to: context.path('/account'), done: t('account.twoFactorOff') };
}

const wrongCode = (): FieldErrors[number] => ({ path: '/code', message: t('account.wrongCode') });

/** Checks the password. Users who sign in at a provider have no password and are not asked for one. */
const passwordError = ({ signIn }: Guards, context: PageContext): Promise<FieldErrors[number] | null> | null =>
  context.viewer.user.hasPassword ? currentPasswordError(signIn, context) : null;

async function codeError(
  { deps: { pool, secretBox, now } }: PageServices,
  { attempts }: Guards,
  { viewer: { user }, request }: PageContext,
  fields: Fields,
): Promise<FieldErrors[number] | null> {
  const locked = await attempts.begin(user.email, request.ip);
  if (locked !== null) return { path: '/code', message: lockedMessage(locked.minutes) };
  const attempt = { userId: user.id, code: fields.text('code'), nowMs: now() };
  if ((await acceptCode(pool, secretBox, attempt)) === null) return wrongCode();
  await attempts.succeed(user.email, request.ip);
  return null;
}

async function auditTwoFactor(
  { deps, management }: PageServices,
  context: PageContext,
  executor: Parameters<typeof auditAccount>[0],
  before: string,
  after: string,
): Promise<void> {
  const { user } = context.viewer;
  const change = { actor: management.actorOf(context), user, action: 'update', nowMs: deps.now() } as const;
  await auditAccount(executor, change, { two_factor: before }, { two_factor: after });
}
