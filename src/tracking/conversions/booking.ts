/** Name of the webhook event that posts a booking back. */
export const postbackEvent = 'conversion';

type UnbilledReason = 'budget' | 'currency';

/** What is counted over all publishers, or at the one of the click. */
export type CountedTotal = 'campaign' | 'publisher';

/** A row of the ledger: a conversion, or the void that reverses it. Amounts in millionths. */
export type Booking = {
  id: string;
  event: string;
  /** Keyed hash of the advertiser's transaction id. */
  txnKey: string;
  isVoid: boolean;
  /** As reported, in `givenCurrency`; null: not reported. */
  givenMicros: bigint | null;
  /** Currency of `givenMicros`; null: that of the booking. */
  givenCurrency: string | null;
  payoutMicros: bigint;
  /** What it would have paid; then it pays 0. */
  unbilledMicros: bigint;
  /** Why it pays 0: it did not fit into a budget, or its currency has no exchange rate. null: `unbilledMicros` is 0. */
  unbilledReason: UnbilledReason | null;
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
  unbilledReason: 'budget',
  payoutMicros: 0n,
  loyaltyMicros: 0n,
});
