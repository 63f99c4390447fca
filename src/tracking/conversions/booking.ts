/** Name of the webhook event that posts a booking back. */
export const postbackEvent = 'conversion';

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
  currency: string;
  isLoyalty: boolean;
  loyaltyMicros: bigint;
  suspicious: string | null;
  clickAtMs: number;
  bookedAtMs: number;
};
