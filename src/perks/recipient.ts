import { parseEmail } from '../accounts/users.ts';
import { AppError } from '../platform/errors.ts';
import { requestLanguage } from '../platform/i18n/reader.ts';
import { problem } from '../platform/problem.ts';

/**
 * Recipient of a perk e-mail, with a language in which messages are available. `email` is null if the e-mail is sent by
 * the publisher's own mailer, which knows the user's address.
 */
export type Recipient = { email: string | null; language: string };

/**
 * Returns the recipient of a call that requests a perk e-mail with `consent`.
 * @throws AppError invalid_request
 */
export function recipientOf(
  { email, language }: { email?: string; language?: string },
  headers: { 'accept-language'?: string | undefined },
): Recipient {
  const address = email === undefined ? null : parseEmail(email);
  if (email !== undefined && address === null)
    throw new AppError('invalid_request', { details: [{ path: '/email', message: problem('oneAddress') }] });
  return { email: address, language: requestLanguage({ language }, headers['accept-language']) };
}
