import type { Html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { type FieldErrors, formOf, type PageContext } from '../../shell/context.ts';
import type { FormBuilder } from '../../shell/forms.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import { lockedMessage } from './sign-in.ts';

export const currentPasswordField = (form: FormBuilder): Html =>
  form.input('current', {
    label: t('account.currentPassword'),
    type: 'password',
    autocomplete: 'current-password',
    required: true,
  });

/**
 * Checks the current password. Each check counts as a sign-in attempt, so that a stolen session cannot be used to guess
 * the password.
 */
export async function currentPasswordError(
  signIn: SignIn,
  { viewer, request }: PageContext,
): Promise<FieldErrors[number] | null> {
  const password = formOf(request).get('current') ?? '';
  const result = await signIn({ email: viewer.user.email, password, address: request.ip });
  if (result.ok) return null;
  const message = result.reason === 'locked' ? lockedMessage(result.minutes) : t('account.wrongPassword');
  return { path: '/current', message };
}
