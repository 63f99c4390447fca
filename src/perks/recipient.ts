import { parseEmail } from '../accounts/users.ts';
import { AppError } from '../platform/errors.ts';
import { requestLanguage } from '../platform/i18n/reader.ts';

/** Whom perks are mailed to, in a language that messages have. `email` null: the publisher's mailer knows the user. */
export type Recipient = { email: string | null; language: string };

/** Who asked for a mail: of a call with `consent` alone. @throws AppError invalid_request */
export function recipientOf(
  { email, language }: { email?: string; language?: string },
  headers: { 'accept-language'?: string | undefined },
): Recipient {
  const address = email === undefined ? null : parseEmail(email);
  if (email !== undefined && address === null)
    throw new AppError('invalid_request', { details: [{ path: '/email', message: 'must be one e-mail address' }] });
  return { email: address, language: requestLanguage({ language }, headers['accept-language']) };
}
