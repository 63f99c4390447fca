import type { App } from '../../platform/http/app.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { hiddenField, notice } from '../../shell/components.ts';
import { type Fields, fieldsIn, type User } from '../../shell/context.ts';
import { createForm } from '../../shell/forms.ts';
import { renderCard } from '../../shell/layout.ts';
import { pageHeaders, redirect } from '../../shell/pages.ts';
import { nextPath, signInPath } from '../access.ts';
import { acceptPasskey, beginSecondFactor } from '../passkeys.ts';
import { findAwaitingSession } from '../sessions.ts';
import { createAttempts } from '../sign-in/attempts.ts';
import { acceptCode } from '../two-factor.ts';
import { codePath, openSession } from './browser-session.ts';
import { passkeyForm, passkeyLabel } from './passkey-form.ts';
import type { PageServices } from './services.ts';
import { lockedMessage } from './sign-in.ts';

const schema = { hide: true };

/** Registers the pages for the second sign-in step, which asks for an authenticator app code or a recovery code. */
export function secondFactorPages(app: App, services: PageServices): void {
  const { deps, cookies, asset } = services;
  const headers = pageHeaders(deps.config.publicUrl);
  const attempts = createAttempts(deps, 'code');
  const page = async (user: User, next: string, error: string | null = null): Promise<string> => {
    const ceremony = await beginSecondFactor(deps, deps.pool, user.id);
    const passkey =
      ceremony !== null && passkeyForm(codePath, ceremony, t('account.usePasskey'), hiddenField('next', next));
    return renderCard(t('account.twoFactor'), asset, html`${passkey}${codeForm(next, error)}`, ['passkeys.js']);
  };
  const findSession = async (token: string | null) =>
    token === null ? null : findAwaitingSession(deps.pool, token, deps.now());

  app.get<{ Querystring: { next?: string } }>(codePath, { schema }, async (request, reply) => {
    reply.headers(headers);
    const session = await findSession(cookies.session(request));
    if (session === null) return redirect(request, reply, signInPath);
    return reply.send(await page(session.user, nextPath(String(request.query.next ?? ''))));
  });

  app.post(codePath, { schema }, async (request, reply) => {
    reply.headers(headers);
    const fields = fieldsIn(request);
    const next = nextPath(fields.text('next'));
    const session = await findSession(cookies.session(request));
    if (session === null) return redirect(request, reply, signInPath);
    const { user } = session;
    const locked = await attempts.begin(user.email, request.ip);
    if (locked !== null) {
      reply.code(429).header('retry-after', String(locked.minutes * 60));
      return reply.send(await page(user, next, lockedMessage(locked.minutes)));
    }
    const accepted = await accept(services, user.id, fields);
    if (accepted === null) return reply.code(401).send(await page(user, next, t('account.wrongCode')));
    await attempts.succeed(user.email, request.ip);
    await openSession(services, request, reply, { ...session, by: accepted === 'app' ? null : accepted });
    return redirect(request, reply, next);
  });
}

/**
 * Checks a code or a passkey response.
 * @returns the accepted method, or null if it is invalid
 */
async function accept({ deps }: PageServices, userId: number, fields: Fields): Promise<string | null> {
  const response = fields.text('response');
  if (response === '')
    return acceptCode(deps.pool, deps.secretBox, { userId, code: fields.text('code'), nowMs: deps.now() });
  const passkeyUser = await acceptPasskey(deps, deps.pool, { userId, sealed: fields.text('sealed'), response });
  return passkeyUser === null ? null : passkeyLabel;
}

function codeForm(next: string, error: string | null): Html {
  const form = createForm({});
  return html`
    ${error !== null && notice('failed', html`<p>${error}</p>`)}
    <form method="post" action="${codePath}" class="form">
      ${hiddenField('next', next)}
      ${form.input('code', {
        label: t('account.code'),
        autocomplete: 'one-time-code',
        hint: t('account.codeOrRecoveryHint'),
        required: true,
        autofocus: true,
        code: true,
      })}
      <div class="form-end"><button class="button main wide">${t('account.signInButton')}</button></div>
    </form>
    <p class="hint"><a href="${signInPath}">${t('account.startAgain')}</a></p>`;
}
