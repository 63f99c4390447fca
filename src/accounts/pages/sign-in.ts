import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import type { App } from '../../platform/ports.ts';
import { hiddenField } from '../../shell/actions.ts';
import { notice } from '../../shell/components.ts';
import { fieldsOf, formOf } from '../../shell/context.ts';
import { createForm } from '../../shell/forms.ts';
import { renderCard } from '../../shell/layout.ts';
import { pageHeaders, redirect } from '../../shell/pages.ts';
import { nextPath, signInPath } from '../access.ts';
import { createSignIn } from '../sign-in/sign-in.ts';
import { hasOperator } from '../users.ts';
import { passFirstFactor } from './browser-session.ts';
import type { PageServices } from './services.ts';

const schema = { hide: true };

/** The sign-in form; the only page without a session beside one-time links. */
export function signInPages(app: App, services: PageServices): void {
  const { pool, config } = services.deps;
  const headers = pageHeaders(config.publicUrl);
  const signIn = createSignIn(services.deps);
  const sendsMails = services.deps.mailer !== null;
  const entries = (email: string, next: string, error: string | null): Html => html`
    ${error !== null && notice('failed', html`<p>${error}</p>`)}
    ${config.oidc !== null && singleSignOnButton(next, config.passwordSignIn ? '' : 'main')}
    ${config.passwordSignIn && html`${signInForm(email, next)}${forgotPassword(sendsMails)}`}`;
  const page = (email: string, next: string, error: string | null = null, above: Html = nothing): string =>
    renderCard(t('account.signInButton'), services.asset, html`${above}${entries(email, next, error)}`);

  app.get<{ Querystring: { next?: string } }>(signInPath, { schema }, async (request, reply) => {
    const next = nextPath(String(request.query.next ?? ''));
    reply.headers(headers);
    if (request.viewer !== null) return redirect(request, reply, next);
    return reply.send(
      page('', next, null, config.passwordSignIn && !(await hasOperator(pool)) ? noOperatorNotice() : nothing),
    );
  });

  if (!config.passwordSignIn) return;
  app.post(signInPath, { schema }, async (request, reply) => {
    const fields = fieldsOf(formOf(request));
    const [email, next] = [fields.text('email'), nextPath(fields.text('next'))];
    const password = formOf(request).get('password') ?? '';
    const result = await signIn({ email, password, address: request.ip });
    reply.headers(headers);
    if (result.ok) return passFirstFactor(services, request, reply, { user: result.user, idTokenSealed: null, next });
    if (result.reason === 'wrong') return reply.code(401).send(page(email, next, t('account.wrongCredentials')));
    reply.code(429).header('retry-after', String(result.minutes * 60));
    return reply.send(page(email, next, lockedMessage(result.minutes)));
  });
}

/** Starts the sign-in at the OpenID provider. */
export const singleSignOnPath = `${signInPath}/oidc`;

export const forgotPath = `${signInPath}/forgot`;

export const lockedMessage = (minutes: number): string => t('account.locked', { minutes });

/** A link: the content security policy lets no form lead to the provider. */
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
