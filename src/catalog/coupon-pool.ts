/** The coupon codes of an offer (docs/reference/perks-and-wallet.md#coupons). */
export type CouponPool = {
  /** When a user gets one. */
  giveAt: 'wrap' | 'save' | 'click';
  /** The one code of all users; null: each user gets an own one. */
  sharedCode: string | null;
  terms: string;
  /** ISO 8601, and days after it was given: the earlier one counts; null: no end. */
  expiresAt: string | null;
  validDays: number | null;
  /** How long a selected offer holds one before the wrap; null: not at all. */
  holdMinutes: number | null;
};
