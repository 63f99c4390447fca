import type { Addressed, MessagePerk, PerkMessages, Reminder } from '../perks/perk-messages.ts';
import { newUuid7 } from '../platform/lib/uuid7.ts';
import { createAddressKeys } from '../platform/security/address-key.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import { allPublishers, type Reader } from './addresses.ts';
import { contentContext, insertMessages, insertSentMessages, type MessageContent, type NewMessage } from './store.ts';

type Peppers = { userPepper: string; earlierPeppers: readonly string[] };

export function createMessageOutbox({ secretBox, config }: { secretBox: SecretBox; config: Peppers }): PerkMessages {
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  const readerKeys = createReaderKeys(config);
  const toMessage = (to: Addressed, perks: MessagePerk[], reminder: Reminder | null): NewMessage => {
    const { sessionId, publisherId, pubUserId, recipient, nowMs } = to;
    const id = newUuid7(nowMs);
    const content: MessageContent = { ...recipient, pubUserId, perks };
    return {
      id,
      publisherId,
      sessionId,
      userKey: userKeys.of(publisherId, pubUserId),
      addressKey: readerKeys(publisherId, content)[0].addressKey,
      hasAddress: recipient.email !== null,
      sealed: secretBox.seal(JSON.stringify(content), contentContext(id)),
      nowMs,
      reminder,
    };
  };
  return {
    add: (executor, messages) =>
      insertMessages(
        executor,
        messages.map(({ perks, ...to }) => toMessage(to, perks, null)),
      ),
    addSent: (executor, messages) =>
      insertSentMessages(
        executor,
        messages.map((to) => toMessage(to, [], null)),
      ),
    remind: (executor, { offerId, endsAtMs, ...to }) =>
      insertMessages(executor, [toMessage(to, [], { offerId, endsAtMs })]),
  };
}

/**
 * Returns the keys under which an address may be suppressed: first the keys for the publisher, current key first, then
 * the keys for all publishers.
 */
export type ReaderKeys = (
  publisherId: number,
  content: { email: string | null; pubUserId?: string },
) => readonly [Reader, ...Reader[]];

export function createReaderKeys(config: Peppers): ReaderKeys {
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  const addressKeys = createAddressKeys(config);
  return (publisherId, { email, pubUserId = '' }) => {
    const scopes = email === null ? [publisherId] : [...new Set([publisherId, allPublishers])];
    const keysOf = (scope: number): string[] =>
      email === null ? userKeys.allOf(scope, ` user ${pubUserId}`) : addressKeys(scope, email);
    const readers = scopes.flatMap((scope) => keysOf(scope).map((addressKey) => ({ publisherId: scope, addressKey })));
    return readers as [Reader, ...Reader[]];
  };
}
