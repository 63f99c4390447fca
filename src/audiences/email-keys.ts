import type { UserKeys } from '../platform/security/user-key.ts';

/** The SHA-256 of an e-mail address, in lower case; null: the text is none. */
export const emailHashOf = (text: string): string | null => {
  const hash = text.trim().toLowerCase();
  return /^[0-9a-f]{64}$/.test(hash) ? hash : null;
};

/** Keys of a user who is known by the hash of an e-mail address; no `pub_user_id` has them. */
export const emailKeys = (userKeys: Pick<UserKeys, 'allOf'>, publisherId: number, emailHash: string): string[] =>
  userKeys.allOf(publisherId, `email_sha256\0${emailHash}`);
