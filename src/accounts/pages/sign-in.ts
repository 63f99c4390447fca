import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import { hiddenField, notice } from '../../shell/components.ts';
import { type Fields, fieldsIn, formOf, type User } from '../../shell/context.ts';
import { createForm } from '../../shell/forms.ts';
import { renderCard } from '../../shell/layout.ts';
import { pageHeaders, redirect } from '../../shell/pages.ts';
import { nextPath, signInPath } from '../access.ts';
import { acceptPasskey, beginSignIn } from '../passkeys.ts';
import { createSignIn } from '../sign-in/sign-in.ts';
import { findById, hasOperator } from '../users.ts';
import { openSession, passFirstFactor } from './browser-session.ts';
import { passkeyForm, passkeyLabel } from './passkey-form.ts';
import type { PageServices } from './services.ts';

const schema = { hide: true };

/** Registers the sign-in page. Apart from one-time links, it is the only page that needs no session. */
export function signInPages(app: App, services: PageServices): void {
  const { pool, config } = services.deps;
  const headers = pageHeaders(config.publicUrl);
  const signIn = createSignIn(services.deps);
  const sendsMails = services.deps.mailer !== null;
  const entries = async (email: string, next: string, error: string | null): Promise<Html> => html`
    ${error !== null && notice('failed', html`<p>${error}</p>`)}
    ${config.oidc !== null && singleSignOnButton(next, config.passwordSignIn ? '' : 'main')}
    ${
      config.passwordSignIn &&
      html`${signInForm(email, next)}
        ${await passkeyEntry(services, next)}
        ${forgotPassword(sendsMails)}`
    }`;
  const page = async (email: string, next: string, error: string | null = null, above = nothing): Promise<string> => {
    const body = html`${above}${await entries(email, next, error)}`;
    return renderCard(t('account.signInButton'), services.asset, body, ['passkeys.js']);
  };

  app.get<{ Querystring: { next?: string } }>(signInPath, { schema }, async (request, reply) => {
    const next = nextPath(String(request.query.next ?? ''));
    reply.headers(headers);
    if (request.viewer !== null) return redirect(request, reply, next);
    const above = config.passwordSignIn && !(await hasOperator(pool)) ? noOperatorNotice() : nothing;
    return reply.send(await page('', next, null, above));
  });

  if (!config.passwordSignIn) return;
  app.post(signInPath, { schema }, async (request, reply) => {
    const fields = fieldsIn(request);
    const [email, next] = [fields.text('email'), nextPath(fields.text('next'))];
    const password = formOf(request).get('password') ?? '';
    const result = await signIn({ email, password, address: request.ip });
    reply.headers(headers);
    if (result.ok) return passFirstFactor(services, request, reply, { user: result.user, idTokenSealed: null, next });
    if (result.reason === 'wrong') return reply.code(401).send(await page(email, next, t('account.wrongCredentials')));
    reply.code(429).header('retry-after', String(result.minutes * 60));
    return reply.send(await page(email, next, lockedMessage(result.minutes)));
  });

  app.post(passkeyPath, { schema }, async (request, reply) => {
    const fields = fieldsIn(request);
    const next = nextPath(fields.text('next'));
    const user = await userOfPasskey(services, fields);
    reply.headers(headers);
    if (user === null) {
      const limited = services.deps.failures.charge(request.ip);
      if (limited !== null) throw limited;
      return reply.code(401).send(await page('', next, t('account.wrongPasskey')));
    }
    await openSession(services, request, reply, { user, idTokenSealed: null, by: passkeyLabel });
    return redirect(request, reply, next);
  });
}

/** Path to which passkey responses are submitted. */
const passkeyPath = `${signInPath}/passkey`;

const passkeyEntry = async ({ deps }: PageServices, next: string): Promise<Html> =>
  passkeyForm(passkeyPath, await beginSignIn(deps), t('account.signInWithPasskey'), hiddenField('next', next));

/**
 * Returns the user that a passkey belongs to. Returns null if the passkey is unknown, or if its user may not sign in or
 * must sign in at the OpenID provider.
 */
async function userOfPasskey({ deps }: PageServices, fields: Fields): Promise<User | null> {
  const answer = { userId: null, sealed: fields.text('sealed'), response: fields.text('response') };
  const id = await acceptPasskey(deps, deps.pool, answer);
  const user = id === null ? null : await findById(deps.pool, id);
  return user === null || user.disabled || !user.hasJoined || user.isLinked ? null : user;
}

/** Path that starts a sign-in at the OpenID provider. */
export const singleSignOnPath = `${signInPath}/oidc`;

export const forgotPath = `${signInPath}/forgot`;

export const lockedMessage = (minutes: number): string => t('account.locked', { minutes });

/**
 * Renders a link styled as a button, because the content security policy does not allow forms to redirect to the
 * provider.
 */
function singleSignOnButton(next: string, kind: 'main' | ''): Html {
  const href = `${singleSignOnPath}?next=${encodeURIComponent(next)}`;
  return html`<a class="button ${kind} wide" href="${href}">${t('account.signInWithSso')}</a>`;
}

function signInForm(email: string, next: string): Html {
  const form = createForm({ email });
  return html`
    <form method="post" action="${signInPath}" class="form">
      ${hiddenField('next', next)}
      ${form.input('email', {
        label: t('common.email'),
        type: 'email',
        autocomplete: 'username',
        required: true,
        autofocus: email === '',
      })}
      ${form.input('password', {
        label: t('account.password'),
        type: 'password',
        autocomplete: 'current-password',
        required: true,
        autofocus: email !== '',
      })}
      <div class="form-end"><button class="button main wide">${t('account.signInButton')}</button></div>
    </form>`;
}

const forgotPassword = (sendsMails: boolean): Html =>
  sendsMails
    ? html`<p class="hint"><a href="${forgotPath}">${t('account.forgotPassword')}</a></p>`
    : html`<p class="hint">${t('account.forgotPasswordAsk')}</p>`;

const noOperatorNotice = (): Html =>
  notice(
    'info',
    html`
      <p>${tHtml('account.noOperator')}</p>
      <p><code>npm run operator:create -- --email you@example.com</code></p>`,
  );
