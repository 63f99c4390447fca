/** Settings of the coupon codes of an offer (docs/reference/perks-and-wallet.md#coupons). */
export type CouponPool = {
  /** Event at which a user gets a code. */
  giveAt: 'wrap' | 'save' | 'click';
  /** Code that all users share; null if each user gets a unique code. */
  sharedCode: string | null;
  terms: string;
  /**
   * End of validity (ISO 8601), and validity in days after the code was given. The earlier one applies; null for no
   * end.
   */
  expiresAt: string | null;
  validDays: number | null;
  /** How long a selected offer holds a code before the wrap (minutes); null if it does not hold one. */
  holdMinutes: number | null;
};
