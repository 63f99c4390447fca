import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { hiddenField } from '../../shell/components.ts';
import type { Ceremony } from '../passkeys.ts';

/** Label of a sign-in with a passkey in the audit log. */
export const passkeyLabel = 'passkey';

/** Fields of a passkey form. passkeys.js gets the device's response and submits it. */
export const passkeyFields = ({ sealed }: Ceremony): Html => html`
  ${hiddenField('sealed', sealed)}${hiddenField('response', '')}
  <p class="hint" data-passkey-failed hidden>${t('account.passkeyFailed')}</p>`;

/** Form that is answered by a passkey. Browsers without passkeys do not show it. */
export const passkeyForm = (action: string, ceremony: Ceremony, text: string, fields: Html): Html => html`
  <form method="post" action="${action}" class="form" data-passkey="${ceremony.options}" data-call="get" hidden>
    ${fields}${passkeyFields(ceremony)}
    <div class="form-end"><button class="button wide">${text}</button></div>
  </form>`;
