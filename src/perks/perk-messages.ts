import type { Coupon } from '../coupons/coupon.ts';
import type { Executor } from '../platform/db/pool.ts';
import type { Recipient } from './recipient.ts';

/** A perk in a message, with the texts that the user was shown. */
export type MessagePerk = {
  title: string;
  description: string;
  advertiser: string;
  /** URL at which the user redeems the perk, or an empty string. */
  url: string;
  /** Coupon of the perk; null if the offer has codes but none was left, undefined if it has no codes. */
  coupon?: Coupon | undefined;
  /** End of the offer (ISO 8601), in a reminder. */
  endsAt?: string;
};

/** A saved offer in a reminder. */
type SavedPerk = { perk: MessagePerk; endsAtMs: number };

/**
 * Finds a saved offer.
 * @returns null if the user has not saved it any more, or it is no longer served, or has no end
 */
export type FindSavedPerk = (publisherId: number, pubUserId: string, offerId: number) => Promise<SavedPerk | null>;

/** User that a message is sent to. */
export type Addressed = {
  sessionId: string;
  publisherId: number;
  pubUserId: string;
  recipient: Recipient;
  nowMs: number;
};

/** A saved offer with its end. */
export type Reminder = { offerId: number; endsAtMs: number };

/** A wrapped session whose user requested the e-mail. `payload` is that of its webhook. */
type MailedSession = Omit<Addressed, 'sessionId' | 'pubUserId'> & {
  id: string;
  pubUserId: string | null;
  payload: () => Buffer;
};

/** Messages to users about their perks; a contribution of one module. */
export type PerkMessages = {
  /** Stores messages in the transaction of their wraps, unless there are no perks, or the publisher sends none. */
  add: (executor: Executor, sessions: readonly MailedSession[]) => Promise<void>;
  /** Stores the reminder of a saved offer if its publisher sends reminders. */
  remind: (executor: Executor, saved: Addressed & Reminder) => Promise<void>;
};
