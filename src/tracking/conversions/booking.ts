/** Name of the webhook event for postbacks of bookings. */
export const postbackEvent = 'conversion';

type UnbilledReason = 'budget' | 'currency';

/** Total that a booking counts in: of all publishers, or of the click's publisher. */
export type CountedTotal = 'campaign' | 'publisher';

/** A row of the ledger: a conversion, or the void that reverses it. Amounts are in millionths. */
export type Booking = {
  id: string;
  event: string;
  /** Keyed hash of the advertiser's transaction id. */
  txnKey: string;
  isVoid: boolean;
  /** Reported amount in `givenCurrency`; null if none was reported. */
  givenMicros: bigint | null;
  /** Currency of `givenMicros`; null for that of the booking. */
  givenCurrency: string | null;
  payoutMicros: bigint;
  /** Amount that it would have paid if it pays 0. */
  unbilledMicros: bigint;
  /**
   * Reason why it pays 0: it did not fit into a budget, or its currency has no exchange rate. Null if `unbilledMicros`
   * is 0.
   */
  unbilledReason: UnbilledReason | null;
  currency: string;
  isLoyalty: boolean;
  loyaltyMicros: bigint;
  suspicious: string | null;
  /** Totals of its campaign that it was counted in; null if unknown. */
  countedIn: readonly CountedTotal[] | null;
  clickAtMs: number;
  bookedAtMs: number;
};

/** The booking of a conversion that no longer fits into its campaign's budget. */
export const unbilled = (booking: Booking): Booking => ({
  ...booking,
  unbilledMicros: booking.payoutMicros,
  unbilledReason: 'budget',
  payoutMicros: 0n,
  loyaltyMicros: 0n,
});
