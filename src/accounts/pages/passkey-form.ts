import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { hiddenField } from '../../shell/actions.ts';
import type { Ceremony } from '../passkeys.ts';

/** What the audit log calls a sign-in with a passkey. */
export const passkeyLabel = 'passkey';

/** What the form of a passkey holds: passkeys.js has the device answer, and submits the answer. */
export const passkeyFields = ({ sealed }: Ceremony): Html => html`
  ${hiddenField('sealed', sealed)}${hiddenField('response', '')}
  <p class="hint" data-passkey-failed hidden>${t('account.passkeyFailed')}</p>`;

/** A form that a passkey answers; browsers without passkeys do not show it. */
export const passkeyForm = (action: string, ceremony: Ceremony, text: string, fields: Html): Html => html`
  <form method="post" action="${action}" class="form" data-passkey="${ceremony.options}" data-call="get" hidden>
    ${fields}${passkeyFields(ceremony)}
    <div class="form-end"><button class="button wide">${text}</button></div>
  </form>`;
