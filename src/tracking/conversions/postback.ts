import { microsToNumber } from '../../platform/money.ts';
import type { Booking } from './booking.ts';
import type { ConvertedClick } from './find-clicks.ts';

/** What a postback reports: a row of the ledger and its click. */
export type Postback = {
  click: Pick<
    ConvertedClick,
    'sessionId' | 'offerId' | 'campaignId' | 'advertiserName' | 'pubUserId' | 'custom' | 'conversion'
  >;
  booking: Omit<Booking, 'txnKey' | 'givenMicros'>;
  txnId: string;
};

/**
 * The postback's bytes (docs/interface.md#conversions). A void has the id of the conversion it reverses, negative
 * amounts and its own time. `payload` holds every custom attribute of the fetch. Pure.
 */
export function buildPostback({ click, booking, txnId }: Postback): Buffer {
  const { conversion } = click;
  const iso = (timeMs: number): string => new Date(timeMs).toISOString();
  return Buffer.from(
    JSON.stringify({
      conversion_id: booking.isVoid && conversion !== null ? conversion.id : booking.id,
      status: booking.isVoid ? 'void' : 'recorded',
      event: booking.event,
      txn_id: txnId,
      offer_id: click.offerId,
      campaign_id: click.campaignId,
      advertiser_name: click.advertiserName,
      payout: microsToNumber(booking.payoutMicros),
      unbilled: microsToNumber(booking.unbilledMicros),
      currency: booking.currency,
      is_loyalty: booking.isLoyalty,
      loyalty_amount: microsToNumber(booking.loyaltyMicros),
      click_time: iso(booking.clickAtMs),
      conversion_time: iso(booking.isVoid && conversion !== null ? conversion.bookedAtMs : booking.bookedAtMs),
      void_time: booking.isVoid ? iso(booking.bookedAtMs) : '',
      session_id: click.sessionId,
      pub_user_id: click.pubUserId ?? '',
      suspicious: booking.suspicious ?? '',
      payload: click.custom,
    }),
  );
}
