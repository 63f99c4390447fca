import { microsToNumber } from '../../platform/money.ts';
import type { Booking } from './booking.ts';
import type { ConvertedClick } from './find-clicks.ts';

/** Fields of a postback. Amounts are in millionths, times in epoch milliseconds; null if the event has none. */
export type Postback = {
  /** Id of the reported or voided conversion, else of the paid event. */
  id: string;
  status: 'recorded' | 'void';
  event: string;
  txnId: string;
  sessionId: string;
  offerId: number;
  campaignId: number;
  advertiserName: string;
  payoutMicros: bigint;
  unbilledMicros: bigint;
  unbilledReason: Booking['unbilledReason'];
  currency: string;
  isLoyalty: boolean;
  loyaltyMicros: bigint;
  clickAtMs: number | null;
  conversionAtMs: number | null;
  voidAtMs: number | null;
  /** Time of the booking. */
  atMs: number;
  pubUserId: string | null;
  suspicious: string | null;
  /** Custom attributes of the fetch. */
  custom: Readonly<Record<string, string>>;
};

/** Body of a postback (docs/guides/conversions.md#for-publishers). Pure function. */
export function buildPostback(postback: Postback): Buffer {
  const iso = (timeMs: number | null): string => (timeMs === null ? '' : new Date(timeMs).toISOString());
  return Buffer.from(
    JSON.stringify({
      conversion_id: postback.id,
      status: postback.status,
      event: postback.event,
      txn_id: postback.txnId,
      offer_id: postback.offerId,
      campaign_id: postback.campaignId,
      advertiser_name: postback.advertiserName,
      payout: microsToNumber(postback.payoutMicros),
      unbilled: microsToNumber(postback.unbilledMicros),
      unbilled_reason: postback.unbilledReason ?? '',
      currency: postback.currency,
      is_loyalty: postback.isLoyalty,
      loyalty_amount: microsToNumber(postback.loyaltyMicros),
      click_time: iso(postback.clickAtMs),
      conversion_time: iso(postback.conversionAtMs),
      void_time: iso(postback.voidAtMs),
      timestamp: iso(postback.atMs),
      session_id: postback.sessionId,
      pub_user_id: postback.pubUserId ?? '',
      suspicious: postback.suspicious ?? '',
      payload: postback.custom,
    }),
  );
}

/** Parts of a booking's click that postbacks contain. */
type PostedClick = {
  sessionId: string;
  offerId: number;
  campaignId: number;
  advertiserName: string;
  pubUserId: string | null;
  custom: ConvertedClick['custom'];
  conversion: Booking | null;
};

/** A row of the ledger with its click. */
export type PostedBooking = {
  click: PostedClick;
  booking: Booking;
  txnId: string;
};

/**
 * Body of the postback of a booking. A void has the id and time of the conversion that it reverses, negative amounts,
 * and its own time.
 */
export function bookingPostback({ click, booking, txnId }: PostedBooking): Buffer {
  const voided = booking.isVoid ? click.conversion : null;
  return buildPostback({
    id: voided?.id ?? booking.id,
    status: booking.isVoid ? 'void' : 'recorded',
    event: booking.event,
    txnId,
    sessionId: click.sessionId,
    offerId: click.offerId,
    campaignId: click.campaignId,
    advertiserName: click.advertiserName,
    payoutMicros: booking.payoutMicros,
    unbilledMicros: booking.unbilledMicros,
    unbilledReason: booking.unbilledReason,
    currency: booking.currency,
    isLoyalty: booking.isLoyalty,
    loyaltyMicros: booking.loyaltyMicros,
    clickAtMs: booking.clickAtMs,
    conversionAtMs: voided?.bookedAtMs ?? booking.bookedAtMs,
    voidAtMs: booking.isVoid ? booking.bookedAtMs : null,
    atMs: booking.bookedAtMs,
    pubUserId: click.pubUserId,
    suspicious: booking.suspicious,
    custom: click.custom,
  });
}
