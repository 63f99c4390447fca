import { hash } from 'node:crypto';
import { parseEmail } from '../accounts/users.ts';
import { emailHashOf, emailKeys } from '../audiences/profile-keys.ts';
import { AppError, type ErrorDetail } from '../platform/errors.ts';
import { textOrNull } from '../platform/http/body-parsing.ts';
import { spellingsOf } from '../platform/lib/email-spellings.ts';
import { problem } from '../platform/problem.ts';
import type { UserKeys } from '../platform/security/user-key.ts';
import { type IdentifierKind, identifierKinds, type UserSubject } from '../platform/user-data.ts';

/** User identifier in a request. Exactly one field must be set. */
export type NamedUser = { readonly [Kind in IdentifierKind]?: string | number | undefined };

/**
 * Returns the user that a request identifies.
 * @throws AppError invalid_request unless exactly one valid identifier is set
 */
export function readSubject(userKeys: UserKeys, publisherId: number, identifiers: NamedUser): UserSubject {
  const texts = identifierKinds.flatMap((kind) => {
    const text = textOrNull(identifiers[kind]);
    return text === null ? [] : [{ kind, text }];
  });
  const [first] = texts;
  if (first === undefined || texts.length > 1)
    throw invalid({ path: '/', message: problem('identifyUser', { choices: identifierKinds.join(', ') }) });
  const { kind: namedBy, text } = first;
  const identifier = readIdentifier(namedBy, text);
  const [userKey = '', ...others] = keysOfSubject(userKeys, publisherId, { namedBy, identifier });
  return { publisherId, namedBy, identifier, userKey, userKeys: [userKey, ...others] };
}

function readIdentifier(kind: IdentifierKind, text: string): string {
  if (kind === 'email') {
    const email = parseEmail(text);
    if (email === null) throw invalid({ path: '/email', message: problem('oneAddress') });
    return email;
  }
  if (kind !== 'email_sha256') return text;
  const emailHash = emailHashOf(text);
  if (emailHash === null) throw invalid({ path: '/email_sha256', message: problem('hexDigits') });
  return emailHash;
}

const invalid = (detail: ErrorDetail): AppError => new AppError('invalid_request', { details: [detail] });

type Identified = { namedBy: IdentifierKind; identifier: string };

/** Returns the keyed hashes under which a user's data may be stored, the current one first. */
export function keysOfSubject(userKeys: UserKeys, publisherId: number, { namedBy, identifier }: Identified): string[] {
  if (namedBy === 'email_sha256') return emailKeys(userKeys, publisherId, identifier);
  if (namedBy !== 'email') return userKeys.allOf(publisherId, identifier);
  return spellingsOf(identifier).flatMap((email) => emailKeys(userKeys, publisherId, hash('sha256', email, 'hex')));
}
