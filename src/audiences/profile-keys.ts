import type { UserKeys } from '../platform/security/user-key.ts';

/** Parses the lower-case SHA-256 of an e-mail address. Returns null if the text is not such a hash. */
export const emailHashOf = (text: string): string | null => {
  const hash = text.trim().toLowerCase();
  return /^[0-9a-f]{64}$/.test(hash) ? hash : null;
};

/**
 * Returns the keys of a user identified by an e-mail address hash. They never coincide with the keys of a
 * `pub_user_id`.
 */
export const emailKeys = (userKeys: { allOf: UserKeys['allOf'] }, publisherId: number, emailHash: string): string[] =>
  userKeys.allOf(publisherId, emailIdentifier(emailHash));

/** Returns the identifier from which the keys of a user are derived if only the hash of an e-mail address is known. */
export const emailIdentifier = (emailHash: string): string => `email_sha256\0${emailHash}`;

/** Keys under which a publisher may have stored a user's data. */
export type ProfileKeys = {
  all: readonly string[];
  /** Key derived from the hash of the user's e-mail address. Null if the request has no hash. */
  email: string | null;
};

/**
 * Returns the profile keys of a user. Publishers identify users by `pub_user_id` and `email_sha256`. The user's actions
 * are stored under the key of their exposure history.
 * @param historyKeys keys of the user's history, the current one first; empty for an unknown user
 */
export function profileKeysOf(
  publisherId: number,
  { pubUserId, emailSha256 }: { pubUserId: string | null; emailSha256: string | null },
  historyKeys: readonly string[],
  userKeys: { allOf: UserKeys['allOf'] },
): ProfileKeys {
  const byId = pubUserId === null ? [] : userKeys.allOf(publisherId, pubUserId);
  const byEmail = emailSha256 === null ? [] : emailKeys(userKeys, publisherId, emailSha256);
  return { all: [...new Set([...byId, ...historyKeys, ...byEmail])], email: byEmail[0] ?? null };
}
