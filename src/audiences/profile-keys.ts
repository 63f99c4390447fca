import type { UserKeys } from '../platform/security/user-key.ts';
/** The SHA-256 of an e-mail address, in lower case; null: the text is none. */
export const emailHashOf = (text: string): string | null => {
  const hash = text.trim().toLowerCase();
  return /^[0-9a-f]{64}$/.test(hash) ? hash : null;
};

/** Keys of a user who is known by the hash of an e-mail address; no `pub_user_id` has them. */
export const emailKeys = (userKeys: { allOf: UserKeys['allOf'] }, publisherId: number, emailHash: string): string[] =>
  userKeys.allOf(publisherId, `email_sha256\0${emailHash}`);

/** Keys under which a publisher may have told of a user. */
export type ProfileKeys = {
  all: readonly string[];
  /** By the hash of an e-mail address; null: the request has none. */
  email: string | null;
};

/**
 * A publisher tells of users by `pub_user_id` and `email_sha256`; what they did is known by the key of their history.
 * @param historyKeys the present one first; none: nobody
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
