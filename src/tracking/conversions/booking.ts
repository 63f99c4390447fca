/** Name of the webhook event that posts a booking back. */
export const postbackEvent = 'conversion';

/** What is counted over all publishers, or at the one of the click. */
export type CountedTotal = 'campaign' | 'publisher';

/** A row of the ledger: a conversion, or the void that reverses it. Amounts in millionths. */
export type Booking = {
  id: string;
  event: string;
  /** Keyed hash of the advertiser's transaction id. */
  txnKey: string;
  isVoid: boolean;
  /** As reported; null: not reported. */
  givenMicros: bigint | null;
  payoutMicros: bigint;
  /** What it would have paid, had it fitted into the budget; then it pays 0. */
  unbilledMicros: bigint;
  currency: string;
  isLoyalty: boolean;
  loyaltyMicros: bigint;
  suspicious: string | null;
  /** Totals of its campaign that it was counted in; null: not known. */
  countedIn: readonly CountedTotal[] | null;
  clickAtMs: number;
  bookedAtMs: number;
};

/** The same booking of a conversion that no longer fits into the budget of its campaign. */
export const unbilled = (booking: Booking): Booking => ({
  ...booking,
  unbilledMicros: booking.payoutMicros,
  payoutMicros: 0n,
  loyaltyMicros: 0n,
});
