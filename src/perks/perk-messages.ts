import type { Coupon } from '../coupons/coupon.ts';
import type { OfferView } from '../offers/offer-view.ts';
import type { Executor } from '../platform/db/pool.ts';
import type { Recipient } from './recipient.ts';

/** Perk in a message, with the copy that the user was shown. */
export type MessagePerk = {
  title: string;
  description: string;
  advertiser: string;
  /** URL where the user redeems the perk, or an empty string if none exists. */
  url: string;
  /** Coupon for the perk. Null if the offer's codes had run out, or undefined if the offer has no codes. */
  coupon?: Coupon | undefined;
  /** End of the offer in ISO 8601 format. Only set in a reminder. */
  endsAt?: string;
};

/** Builds a perk for a message. */
export const toMessagePerk = (view: OfferView, coupon: Coupon | undefined): MessagePerk => ({
  title: view.title || view.short_headline,
  description: view.description,
  advertiser: view.advertiser_name,
  url: view.click_url,
  coupon,
});

/** Saved offer in a reminder. */
type SavedPerk = { perk: MessagePerk; endsAtMs: number };

/**
 * Finds a saved offer.
 * @returns null if the user no longer has it in the wallet, if it is no longer served, or if it has no end
 */
export type FindSavedPerk = (publisherId: number, pubUserId: string, offerId: number) => Promise<SavedPerk | null>;

/** Session, user and recipient of a message. */
export type Addressed = {
  sessionId: string;
  publisherId: number;
  pubUserId: string;
  recipient: Recipient;
  nowMs: number;
};

/** Saved offer that the user is reminded of, with the time when it ends. */
export type Reminder = { offerId: number; endsAtMs: number };

/** Outbox for messages to users about their perks, provided by a single module. */
export type PerkMessages = {
  /**
   * Stores messages about confirmed perks in the same transaction as the wraps, unless the publisher has disabled
   * messages.
   */
  add: (executor: Executor, messages: readonly (Addressed & { perks: MessagePerk[] })[]) => Promise<void>;
  /** Stores messages as sent at their `nowMs`, without sending them, for generated history. */
  addSent: (executor: Executor, messages: readonly Addressed[]) => Promise<void>;
  /** Stores a reminder for a saved offer if its publisher has reminders enabled. */
  remind: (executor: Executor, saved: Addressed & Reminder) => Promise<void>;
};
