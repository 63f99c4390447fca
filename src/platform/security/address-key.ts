import { spellingsOf } from '../lib/email-spellings.ts';
import { createUserKeys } from './user-key.ts';

/** Returns the keyed hashes under which an e-mail address may be stored in a scope, usually that of a publisher. */
export type AddressKeys = (scope: number, email: string) => string[];

/**
 * Creates the function that hashes e-mail addresses. An address has a key for each of its spellings and for each
 * pepper, the current one first.
 */
export function createAddressKeys(peppers: { userPepper: string; earlierPeppers: readonly string[] }): AddressKeys {
  const userKeys = createUserKeys(peppers.userPepper, peppers.earlierPeppers);
  // A `pub_user_id` never starts with a blank, so the key of a user can't equal the key of an address.
  return (scope, email) => spellingsOf(email).flatMap((spelling) => userKeys.allOf(scope, ` mail ${spelling}`));
}
