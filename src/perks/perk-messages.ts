import type { Coupon } from '../coupons/coupon.ts';
import type { Executor } from '../platform/db/pool.ts';
import type { Recipient } from './recipient.ts';

/** A perk in a message: texts as the user was shown them. */
export type MessagePerk = {
  title: string;
  description: string;
  advertiser: string;
  /** URL at which the perk is used, or '' without one. */
  url: string;
  /** null: the offer has codes, and none was left; undefined: it has none. */
  coupon?: Coupon | undefined;
  /** End of the offer (ISO 8601), in a reminder. */
  endsAt?: string;
};

/** A saved offer as its user would be reminded of it. */
type SavedPerk = { perk: MessagePerk; endsAtMs: number };

/** @returns null: the user has not saved it any more, or it is not served any more, or has no end */
export type FindSavedPerk = (publisherId: number, pubUserId: string, offerId: number) => Promise<SavedPerk | null>;

/** The user that a message is sent to. */
export type Addressed = {
  sessionId: string;
  publisherId: number;
  pubUserId: string;
  recipient: Recipient;
  nowMs: number;
};

/** A saved offer and its end. */
export type Reminder = { offerId: number; endsAtMs: number };

/** A wrapped session whose user asked for the mail. `payload`: that of its webhook. */
type MailedSession = Omit<Addressed, 'sessionId' | 'pubUserId'> & {
  id: string;
  pubUserId: string | null;
  payload: () => Buffer;
};

/** Messages to users about their perks; a contribution of one module. */
export type PerkMessages = {
  /** Stores messages in the transaction of their wraps; none without perks, or of a publisher that sends none. */
  add: (executor: Executor, sessions: readonly MailedSession[]) => Promise<void>;
  /** Stores the reminder of a saved offer, where its publisher sends such. */
  remind: (executor: Executor, saved: Addressed & Reminder) => Promise<void>;
};
