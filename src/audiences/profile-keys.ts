import type { UserKeys } from '../platform/security/user-key.ts';
/** SHA-256 of an email address, in lower case; null if the text is not a hash. */
export const emailHashOf = (text: string): string | null => {
  const hash = text.trim().toLowerCase();
  return /^[0-9a-f]{64}$/.test(hash) ? hash : null;
};

/** Keys of a user identified by the hash of an email address; no `pub_user_id` has these keys. */
export const emailKeys = (userKeys: { allOf: UserKeys['allOf'] }, publisherId: number, emailHash: string): string[] =>
  userKeys.allOf(publisherId, `email_sha256\0${emailHash}`);

/** Keys under which a publisher may have stored data of a user. */
export type ProfileKeys = {
  all: readonly string[];
  /** Key by the hash of an email address, or null if the request has none. */
  email: string | null;
};

/**
 * Publishers identify users by `pub_user_id` and `email_sha256`; their actions are stored under the key of their
 * history.
 * @param historyKeys the current one first; empty for an unknown user
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
