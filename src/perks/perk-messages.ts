import type { Coupon } from '../coupons/coupon.ts';
import type { OfferView } from '../offers/offer-view.ts';
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

/** Returns a perk for a message. */
export const toMessagePerk = (view: OfferView, coupon: Coupon | undefined): MessagePerk => ({
  title: view.title || view.short_headline,
  description: view.description,
  advertiser: view.advertiser_name,
  url: view.click_url,
  coupon,
});

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

/** Messages to users about their perks; a contribution of one module. */
export type PerkMessages = {
  /** Stores messages with confirmed perks in the transaction of their wraps, unless the publisher sends none. */
  add: (executor: Executor, messages: readonly (Addressed & { perks: MessagePerk[] })[]) => Promise<void>;
  /** Stores the reminder of a saved offer if its publisher sends reminders. */
  remind: (executor: Executor, saved: Addressed & Reminder) => Promise<void>;
};
