import type { App } from '../../platform/http/app.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import type { Mailer } from '../../platform/mailer.ts';
import { notice } from '../../shell/components.ts';
import { type FieldErrors, fieldsIn } from '../../shell/context.ts';
import { createForm } from '../../shell/forms.ts';
import { renderCard } from '../../shell/layout.ts';
import { pageHeaders } from '../../shell/pages.ts';
import { signInPath } from '../access.ts';
import { createPasswordResets } from '../sign-in/password-reset.ts';
import { parseEmail } from '../users.ts';
import type { PageServices } from './services.ts';
import { forgotPath, lockedMessage } from './sign-in.ts';

const schema = { hide: true };

/**
 * Registers the page on which users request a password reset link by e-mail. The page is only available if e-mail is
 * configured.
 */
export function forgotPasswordPages(app: App, services: PageServices, mailer: Mailer): void {
  const { deps, asset } = services;
  const headers = pageHeaders(deps.config.publicUrl);
  const requestReset = createPasswordResets(deps, mailer);
  const page = (body: Html): string => renderCard(t('account.forgotPassword'), asset, body);

  app.get(forgotPath, { schema }, async (_request, reply) => reply.headers(headers).send(page(emailForm(''))));

  app.post(forgotPath, { schema }, async (request, reply) => {
    reply.headers(headers);
    const email = fieldsIn(request).text('email');
    if (parseEmail(email) === null) {
      const errors = [{ path: '/email', message: t('common.invalidEmail') }];
      return reply.code(422).send(page(emailForm(email, errors)));
    }
    const refused = await requestReset(email, request.ip);
    if (refused === null) return reply.send(page(sent()));
    reply.code(429).header('retry-after', String(refused.lockedMinutes * 60));
    return reply.send(page(notice('failed', html`<p>${lockedMessage(refused.lockedMinutes)}</p>`)));
  });
}

const backLink = (): Html => html`<p class="hint"><a href="${signInPath}">${t('common.backToSignIn')}</a></p>`;

const sent = (): Html => html`
  ${notice('done', html`<p>${t('account.resetSent')}</p>`)}
  <p class="hint">${t('account.resetSentHint')}</p>
  ${backLink()}`;

function emailForm(email: string, errors: FieldErrors = []): Html {
  const form = createForm({ email }, errors);
  return html`
    <p class="lead">${t('account.resetLead')}</p>
    <form method="post" action="${forgotPath}" class="form" novalidate>
      ${form.input('email', {
        label: t('common.email'),
        type: 'email',
        autocomplete: 'username',
        required: true,
        autofocus: true,
      })}
      <div class="form-end"><button class="button main wide">${t('account.sendLink')}</button></div>
    </form>
    ${backLink()}`;
}
