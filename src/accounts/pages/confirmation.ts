import type { FastifyRequest } from 'fastify';
import type { App } from '../../platform/http/app.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { minuteMs } from '../../platform/lib/time.ts';
import { csrfField, hiddenField, linkButton, notice } from '../../shell/components.ts';
import { csrfFieldName, fieldsIn, formOf, type Viewer } from '../../shell/context.ts';
import { createForm } from '../../shell/forms.ts';
import { renderCard } from '../../shell/layout.ts';
import { pageHeaders } from '../../shell/pages.ts';
import { beforeSensitive } from '../access.ts';
import { acceptPasskey, beginSecondFactor } from '../passkeys.ts';
import { confirmedMinutes, confirmSession } from '../sessions.ts';
import { createAttempts } from '../sign-in/attempts.ts';
import { createSignIn } from '../sign-in/sign-in.ts';
import { acceptCode } from '../two-factor.ts';
import { passkeyForm } from './passkey-form.ts';
import type { PageServices } from './services.ts';
import { lockedMessage, singleSignOnPath } from './sign-in.ts';

export const isConfirmed = ({ confirmedMs }: Viewer, nowMs: number): boolean =>
  nowMs - confirmedMs < confirmedMinutes * minuteMs;

/** Form fields for the proof of identity. They are submitted together with the sensitive form. */
const passwordField = '_password';
const codeField = '_code';
const ownFields: ReadonlySet<string> = new Set([csrfFieldName, passwordField, codeField, 'sealed', 'response']);

/**
 * Interrupts a sensitive form submission to ask for a password, passkey or code. Runs the action once the user's
 * identity is confirmed.
 */
export function registerConfirmation(app: App, services: PageServices): void {
  const { deps, asset } = services;
  const headers = pageHeaders(deps.config.publicUrl);
  const prove = createProof(services);
  beforeSensitive(app, async (request, reply, viewer) => {
    if (isConfirmed(viewer, deps.now())) return;
    const result = await prove(request, viewer);
    if (result === 'proved') {
      await confirmSession(deps.pool, viewer.sessionId, deps.now());
      return;
    }
    const page = renderCard(t('account.confirmTitle'), asset, await question(services, request, viewer, result), [
      'passkeys.js',
    ]);
    return reply
      .code(result === null ? 403 : 401)
      .headers(headers)
      .send(page);
  });
}

/** Outcome of a confirmation. Null means that no proof of identity was submitted. `refused` contains the reason. */
type Proof = 'proved' | null | { refused: string };

/**
 * Creates the check for proofs of identity. Failed attempts count as failed sign-ins, so that a stolen session cannot
 * be used to guess passwords and codes.
 */
function createProof({ deps }: PageServices) {
  const signIn = createSignIn(deps);
  const attempts = createAttempts(deps, 'code');
  const byCode = async ({ user }: Viewer, code: string, address: string): Promise<Proof> => {
    const locked = await attempts.begin(user.email, address);
    if (locked !== null) return { refused: lockedMessage(locked.minutes) };
    const accepted = await acceptCode(deps.pool, deps.secretBox, { userId: user.id, code, nowMs: deps.now() });
    if (accepted === null) return { refused: t('account.wrongCode') };
    await attempts.succeed(user.email, address);
    return 'proved';
  };
  const byPassword = async ({ user }: Viewer, password: string, address: string): Promise<Proof> => {
    const result = await signIn({ email: user.email, password, address });
    if (result.ok) return 'proved';
    return { refused: result.reason === 'locked' ? lockedMessage(result.minutes) : t('account.wrongPassword') };
  };
  return async (request: FastifyRequest, viewer: Viewer): Promise<Proof> => {
    const form = formOf(request);
    const fields = fieldsIn(request);
    const password = form.get(passwordField) ?? '';
    if (password !== '' && viewer.user.hasPassword) return byPassword(viewer, password, request.ip);
    if (fields.text(codeField) !== '' && viewer.user.hasTwoFactor)
      return byCode(viewer, fields.text(codeField), request.ip);
    const response = fields.text('response');
    if (response === '') return null;
    const answer = { userId: viewer.user.id, sealed: fields.text('sealed'), response };
    return (await acceptPasskey(deps, deps.pool, answer)) === null ? { refused: t('account.wrongPasskey') } : 'proved';
  };
}

async function question(
  { deps }: PageServices,
  request: FastifyRequest,
  viewer: Viewer,
  result: null | { refused: string },
): Promise<Html> {
  const { user } = viewer;
  const waiting = [...formOf(request)].filter(([name]) => !ownFields.has(name));
  const fields = html`${csrfField(viewer)}${waiting.map(([name, value]) => hiddenField(name, value))}`;
  const passkey = await beginSecondFactor(deps, deps.pool, user.id);
  const canProve = user.hasPassword || user.hasTwoFactor;
  return html`
    ${result !== null && notice('failed', html`<p>${result.refused}</p>`)}
    <p>${t('account.confirmLead', { minutes: confirmedMinutes })}</p>
    ${passkey !== null && passkeyForm(request.url, passkey, t('account.usePasskey'), fields)}
    ${canProve && proofForm(request.url, viewer, fields)}
    ${!canProve && html`<p>${t('account.confirmAtProvider')}</p>`}
    ${!canProve && linkButton(`${singleSignOnPath}?again`, t('account.signInWithSso'))}
    <p class="hint"><a href="/dashboard">${t('common.cancel')}</a></p>`;
}

function proofForm(action: string, { user }: Viewer, fields: Html): Html {
  const form = createForm({});
  return html`
    <form method="post" action="${action}" class="form">
      ${fields}
      ${
        user.hasPassword
          ? form.input(passwordField, {
              label: t('account.currentPassword'),
              type: 'password',
              autocomplete: 'current-password',
              required: true,
              autofocus: true,
            })
          : form.input(codeField, {
              label: t('account.code'),
              autocomplete: 'one-time-code',
              hint: t('account.codeOrRecoveryHint'),
              required: true,
              autofocus: true,
              code: true,
            })
      }
      <div class="form-end"><button class="button main wide">${t('account.confirmButton')}</button></div>
    </form>`;
}
