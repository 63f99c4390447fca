import encodeQR from 'qr';
import { html, trusted } from '../../../platform/http/html.ts';
import { keyUri } from '../../auth/two-factor.ts';
import { twoFactorPath } from '../../shell/access.ts';
import { hiddenField, saveForm } from '../../shell/actions.ts';
import { badge, card, copyable, linkButton, notice } from '../../shell/components.ts';
import type { PageContext } from '../../shell/context.ts';
import type { FieldErrors } from '../../shell/fields.ts';
import { createForm, type FormBuilder } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { currentPasswordField } from './current-password.ts';

type Shown = { errors: FieldErrors; required: boolean };

const base = (errors: FieldErrors): Pick<Page, 'title' | 'nav' | 'trail' | 'status'> => ({
  title: 'Two-factor authentication',
  nav: 'account',
  trail: [{ text: 'Account', href: '/dashboard/account' }],
  status: errors.length > 0 ? 422 : 200,
});

const requiredNotice = notice('info', html`<p>Your organisation requires two-factor authentication.</p>`);

const codeField = (form: FormBuilder, hint: string) =>
  form.input('code', { label: 'Code', autocomplete: 'one-time-code', code: true, required: true, hint });

/** Asks for the password where the user has one. */
const passwordField = (form: FormBuilder, { viewer }: PageContext) =>
  viewer.user.hasPassword && currentPasswordField(form);

type SetUp = Shown & { secret: string; sealed: string };

/** `secret`: base32, shown as QR code and text; `sealed`: the same for the form. */
export function setUpPage(context: PageContext, { errors, required, secret, sealed }: SetUp): Page {
  const form = createForm({}, errors);
  const code = trusted(encodeQR(keyUri(secret, context.viewer.user.email), 'svg', { ecc: 'medium', border: 4 }));
  const fields = html`
    ${form.summary()}
    ${hiddenField('setup', sealed)}
    ${codeField(form, 'The six digits that the app shows now.')}
    ${passwordField(form, context)}`;
  return {
    ...base(errors),
    body: html`
      ${required && requiredNotice}
      ${card(
        '1. Add Perkwire to your authenticator app',
        html`
          <div class="qr" role="img" aria-label="QR code for the authenticator app">${code}</div>
          <p class="hint">If you cannot scan it, type this key into the app:</p>
          ${copyable((secret.match(/.{1,4}/g) ?? []).join(' '), 'key for the authenticator app')}`,
        {
          lead: 'Scan the QR code with an app such as Aegis, Google Authenticator or 1Password.',
        },
      )}
      ${card('2. Confirm', saveForm(context, twoFactorPath, fields, { button: 'Turn on' }), {
        lead: 'Turning it on signs you out of all other sessions.',
      })}`,
  };
}

export function managePage(context: PageContext, { errors, required }: Shown): Page {
  const form = createForm({}, errors);
  const fields = html`
    ${form.summary()}
    ${codeField(form, 'The six digits of your authenticator app, or a recovery code.')}
    ${passwordField(form, context)}`;
  const off = html`<button class="button danger" formaction="${twoFactorPath}/off">Turn off</button>`;
  return {
    ...base(errors),
    body: html`
      ${required && requiredNotice}
      ${card(
        'Manage',
        html`
          <p>${badge('On', 'good')} Each sign-in asks for a code.</p>
          ${saveForm(context, `${twoFactorPath}/codes`, fields, {
            button: 'New recovery codes',
            ...(!required && { extra: off }),
          })}`,
        { lead: 'New recovery codes replace the earlier ones. For another phone, turn it off and set it up again.' },
      )}`,
  };
}

/** Recovery codes, shown once. */
export const recoveryCodesPage = (codes: readonly string[]): Page => ({
  ...base([]),
  body: card(
    'Recovery codes',
    html`
      ${copyable(codes.join('\n'), 'recovery codes')}
      ${linkButton('/dashboard', 'I have saved them', 'main')}`,
    {
      lead:
        'Two-factor authentication is on. Keep these codes in a safe place: each signs you in once without the app. ' +
        'They are shown only now.',
    },
  ),
});
