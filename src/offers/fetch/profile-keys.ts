import { emailKeys } from '../../audiences/email-keys.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import type { FetchOffersRequest } from './request.ts';

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
  { pubUserId, emailSha256 }: Pick<FetchOffersRequest, 'pubUserId' | 'emailSha256'>,
  historyKeys: readonly string[],
  userKeys: Pick<UserKeys, 'allOf'>,
): ProfileKeys {
  const byId = pubUserId === null ? [] : userKeys.allOf(publisherId, pubUserId);
  const byEmail = emailSha256 === null ? [] : emailKeys(userKeys, publisherId, emailSha256);
  return { all: [...new Set([...byId, ...historyKeys, ...byEmail])], email: byEmail[0] ?? null };
}
