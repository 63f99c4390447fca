import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { hiddenField } from '../../shell/components.ts';
import type { Ceremony } from '../passkeys.ts';

/** Audit log label for a sign-in with a passkey. */
export const passkeyLabel = 'passkey';

/** Renders the fields of a passkey form. passkeys.js requests the device's response and submits the form. */
export const passkeyFields = ({ sealed }: Ceremony): Html => html`
  ${hiddenField('sealed', sealed)}${hiddenField('response', '')}
  <p class="hint" data-passkey-failed hidden>${t('account.passkeyFailed')}</p>`;

/** Renders a form that is submitted with a passkey. It is hidden in browsers without passkey support. */
export const passkeyForm = (action: string, ceremony: Ceremony, text: string, fields: Html): Html => html`
  <form method="post" action="${action}" class="form" data-passkey="${ceremony.options}" data-call="get" hidden>
    ${fields}${passkeyFields(ceremony)}
    <div class="form-end"><button class="button wide">${text}</button></div>
  </form>`;
