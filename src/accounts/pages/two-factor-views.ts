import encodeQR from 'qr';
import { type Html, html, trusted } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { badge, card, copyable, hiddenField, linkButton, notice, saveForm } from '../../shell/components.ts';
import type { FieldErrors, PageContext } from '../../shell/context.ts';
import { createForm, type FormBuilder } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { twoFactorPath } from '../access.ts';
import { keyUri } from '../two-factor.ts';
import { currentPasswordField } from './current-password.ts';

type FormState = { errors: FieldErrors; required: boolean };

const base = (errors: FieldErrors): Pick<Page, 'title' | 'nav' | 'trail' | 'status'> => ({
  title: t('account.twoFactor'),
  nav: 'account',
  trail: [{ text: t('common.account'), href: '/dashboard/account' }],
  status: errors.length > 0 ? 422 : 200,
});

const requiredNotice = (): Html => notice('info', html`<p>${t('account.twoFactorRequiredNotice')}</p>`);

const codeField = (form: FormBuilder, hint: string) =>
  form.input('code', { label: t('account.code'), autocomplete: 'one-time-code', code: true, required: true, hint });

/** Renders the password field for users who have a password. */
const passwordField = (form: FormBuilder, { viewer }: PageContext) =>
  viewer.user.hasPassword && currentPasswordField(form);

type SetUp = FormState & { secret: string; sealed: string };

/**
 * Renders the set-up page. `secret` is in base32 and is shown both as a QR code and as text. `sealed` is the same
 * secret, encrypted for the form.
 */
export function setUpPage(context: PageContext, { errors, required, secret, sealed }: SetUp): Page {
  const form = createForm({}, errors);
  const code = trusted(encodeQR(keyUri(secret, context.viewer.user.email), 'svg', { ecc: 'medium', border: 4 }));
  const fields = html`
    ${form.summary()}
    ${hiddenField('setup', sealed)}
    ${codeField(form, t('account.codeHint'))}
    ${passwordField(form, context)}`;
  return {
    ...base(errors),
    actions: linkButton('/dashboard/account/passkeys', t('account.addPasskey'), 'quiet'),
    body: html`
      ${required && requiredNotice()}
      ${card(
        t('account.addToApp'),
        html`
          <div class="qr" role="img" aria-label="${t('account.qrCode')}">${code}</div>
          <p class="hint">${t('account.typeKey')}</p>
          ${copyable((secret.match(/.{1,4}/g) ?? []).join(' '), t('account.appKey'))}`,
        {
          lead: t('account.addToAppLead'),
        },
      )}
      ${card(t('account.confirmStep'), saveForm(context, twoFactorPath, fields, { button: t('account.turnOn') }), {
        lead: t('account.turnOnLead'),
      })}`,
  };
}

export function managePage(context: PageContext, { errors, required }: FormState): Page {
  const form = createForm({}, errors);
  const fields = html`
    ${form.summary()}
    ${codeField(form, t('account.codeOrRecoveryHint'))}
    ${passwordField(form, context)}`;
  const off = html`<button class="button danger" formaction="${twoFactorPath}/off">${t('account.turnOff')}</button>`;
  return {
    ...base(errors),
    body: html`
      ${required && requiredNotice()}
      ${card(
        t('account.manage'),
        html`
          <p>${badge(t('common.on'), 'good')} ${t('account.asksForCode')}</p>
          ${saveForm(context, `${twoFactorPath}/codes`, fields, {
            button: t('account.newRecoveryCodes'),
            ...(!required && { extra: off }),
          })}`,
        { lead: t('account.manageLead') },
      )}`,
  };
}

/** Renders the page with the recovery codes, which are shown only once. */
export const recoveryCodesPage = (codes: readonly string[]): Page => ({
  ...base([]),
  body: card(
    t('account.recoveryCodes'),
    html`
      ${copyable(codes.join('\n'), t('account.recoveryCodesLabel'))}
      ${linkButton('/dashboard', t('account.codesSaved'), 'main')}`,
    {
      lead: t('account.recoveryCodesLead'),
    },
  ),
});
