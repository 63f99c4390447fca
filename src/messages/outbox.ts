import type { Config } from '../config.ts';
import type { Executor } from '../platform/db/pool.ts';
import { newUuid7 } from '../platform/lib/uuid7.ts';
import type { SecretBox } from '../platform/security/secret-box.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import { contentContext, insertMessages, type MessageContent, type MessagePerk } from './store.ts';

/** Whom perks are mailed to, in a language whose words are here. */
export type Recipient = { email: string; language: string };

/** A wrapped session whose user asked for the mail. `payload`: that of its webhook. */
type MailedSession = {
  id: string;
  publisherId: number;
  pubUserId: string | null;
  recipient: Recipient;
  payload: () => Buffer;
  nowMs: number;
};

export type MessageOutbox = {
  /** Stores messages in the transaction of their wraps; none without perks, or of a publisher that sends none. */
  add: (executor: Executor, sessions: readonly MailedSession[]) => Promise<void>;
};

type Payload = {
  body: {
    campaigns: {
      title: string;
      short_headline: string;
      description: string;
      advertiser_name: string;
      click_url: string;
      coupon?: MessagePerk['coupon'];
    }[];
  };
};

export function createMessageOutbox({
  secretBox,
  config,
}: {
  secretBox: SecretBox;
  config: Pick<Config, 'userPepper' | 'earlierPeppers'>;
}): MessageOutbox {
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  return {
    add: async (executor, sessions) => {
      const messages = sessions.flatMap(({ id: sessionId, publisherId, pubUserId, recipient, payload, nowMs }) => {
        const perks = perksOf(JSON.parse(payload().toString()) as Payload);
        if (perks.length === 0 || pubUserId === null) return [];
        const id = newUuid7(nowMs);
        const content: MessageContent = { ...recipient, perks };
        const sealed = secretBox.seal(JSON.stringify(content), contentContext(id));
        return [{ id, publisherId, sessionId, userKey: userKeys.of(publisherId, pubUserId), sealed, nowMs }];
      });
      if (messages.length > 0) await insertMessages(executor, messages);
    },
  };
}

const perksOf = ({ body }: Payload): MessagePerk[] =>
  body.campaigns.map(({ title, short_headline, description, advertiser_name: advertiser, click_url: url, coupon }) => ({
    ...{ title: title || short_headline, description, advertiser, url, coupon },
  }));

/** The keyed hashes of an address at a publisher, the present one first. */
export function createAddressKeys(config: Pick<Config, 'userPepper' | 'earlierPeppers'>) {
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  // A blank begins no pub_user_id, so no user has the key of an address.
  return (publisherId: number, email: string): readonly string[] => userKeys.allOf(publisherId, ` mail ${email}`);
}
