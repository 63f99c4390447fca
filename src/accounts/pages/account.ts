import { transaction } from '../../platform/db/pool.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { isReaderLanguage, readerLanguages } from '../../platform/i18n/languages.ts';
import { t } from '../../platform/i18n/messages.ts';
import { card, descriptionList, saveForm } from '../../shell/components.ts';
import {
  type FieldErrors,
  type Fields,
  formOf,
  type PageContext,
  roleName,
  type User,
  useLanguageOf,
} from '../../shell/context.ts';
import { createForm } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { commonPages, type PageResult } from '../../shell/pages.ts';
import { hashPassword, passwordProblem } from '../passwords.ts';
import { endSessionsOf } from '../sessions.ts';
import { auditAccount } from '../sign-in/account-audit.ts';
import { createSignIn, type SignIn } from '../sign-in/sign-in.ts';
import { setLanguage, setPassword } from '../users.ts';
import { startBrowserSession } from './browser-session.ts';
import { currentPasswordError, currentPasswordField } from './current-password.ts';
import { membershipsCard, ownMembershipPages } from './memberships.ts';
import { newPasswordFields } from './one-time-link.ts';
import { ownSessionPages, sessionsCard } from './own-sessions.ts';
import { passkeyPages, passkeysCard } from './passkeys.ts';
import type { PageServices } from './services.ts';
import { twoFactorCard, twoFactorPages } from './two-factor.ts';

/** Registers the user's account page, where they manage their password, second factor and sessions. */
export function accountPages(app: App, services: PageServices): void {
  const signIn = createSignIn(services.deps);
  const pages = commonPages(app, services);
  pages.get('/account', 'advertiser', (context) => accountPage(services, context, []));
  pages.post('/account/password', 'advertiser', (context) => changePassword(services, signIn, context));
  pages.post('/account/language', 'advertiser', (context, fields) => changeLanguage(services, context, fields));
  ownMembershipPages(app, services);
  ownSessionPages(app, services);
  twoFactorPages(app, services);
  passkeyPages(app, services);
}

async function changeLanguage({ deps }: PageServices, context: PageContext, fields: Fields): Promise<PageResult> {
  const { user } = context.viewer;
  const language = fields.text('language');
  const set = isReaderLanguage(language) ? language : null;
  await setLanguage(deps.pool, user.id, set);
  useLanguageOf(context.request, { language: set });
  return { to: context.path('/account'), done: t('account.languageSaved') };
}

/** Languages that the user can choose, each named in its own language. */
const languageNames = readerLanguages.map((language) => ({
  value: language,
  text: new Intl.DisplayNames([language], { type: 'language' }).of(language) ?? language,
}));

function languageCard(context: PageContext): Html {
  const field = createForm({ language: context.viewer.user.language ?? '' }).select('language', {
    label: t('account.language'),
    choices: [{ value: '', text: t('account.languageOfBrowser') }, ...languageNames],
  });
  return card(t('account.language'), saveForm(context, context.path('/account/language'), field), {
    lead: t('account.languageLead'),
  });
}

async function changePassword(services: PageServices, signIn: SignIn, context: PageContext): Promise<PageResult> {
  const { pool, now } = services.deps;
  const { user } = context.viewer;
  const form = formOf(context.request);
  const [password = '', again = ''] = ['password', 'again'].map((name) => form.get(name) ?? '');
  const error = newPasswordError(user, password, again) ?? (await currentPasswordError(signIn, context));
  if (error !== null) return accountPage(services, context, [error]);
  const passwordHash = await hashPassword(password);
  const session = await transaction(pool, async (executor) => {
    await setPassword(executor, user.id, passwordHash);
    const change = { actor: services.management.actorOf(context), user, action: 'update', nowMs: now() } as const;
    await auditAccount(executor, change, { password: 'set' }, { password: 'changed' });
    await endSessionsOf(executor, user.id);
    return startBrowserSession(services, executor, context.request, { userId: user.id });
  });
  services.cookies.setSession(context.reply, session);
  return { to: context.path('/account'), done: t('account.passwordChanged') };
}

function newPasswordError(user: User, password: string, again: string): FieldErrors[number] | null {
  const problem = passwordProblem(password, user.email);
  if (problem !== null) return { path: '/password', message: problem };
  return password === again ? null : { path: '/again', message: t('account.passwordsDiffer') };
}

async function accountPage(services: PageServices, context: PageContext, errors: FieldErrors): Promise<Page> {
  const { email, role, hasPassword } = context.viewer.user;
  const changesPassword = hasPassword && services.deps.config.passwordSignIn;
  const form = createForm({}, errors);
  const fields = html`
    ${form.summary()}
    ${currentPasswordField(form)}
    ${newPasswordFields(form)}`;
  return {
    title: t('common.account'),
    nav: 'account',
    status: errors.length > 0 ? 422 : 200,
    body: html`
      ${card(
        t('account.profile'),
        descriptionList([
          [t('common.email'), email],
          [t('account.role'), roleName(role)],
          [t('account.signIn'), t(context.viewer.byProvider ? 'account.singleSignOn' : 'account.password')],
        ]),
      )}
      ${
        changesPassword &&
        card(
          t('account.password'),
          saveForm(context, context.path('/account/password'), fields, { button: t('account.changePassword') }),
          {
            lead: t('account.changePasswordLead'),
          },
        )
      }
      ${await membershipsCard(services, context)}
      ${languageCard(context)}
      ${await twoFactorCard(services, context)}
      ${await passkeysCard(services, context)}
      ${await sessionsCard(services, context)}`,
  };
}
