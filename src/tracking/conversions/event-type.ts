import { Type } from '@sinclair/typebox';
import { firstUuid7At } from '../../platform/lib/uuid7.ts';
import type { EventType, SampleContext } from '../../webhooks/events.ts';
import { postbackEvent } from './booking.ts';
import { bookingPostback } from './postback.ts';

const payload = Type.Object({
  conversion_id: Type.String({ description: 'Of the conversion, or of the paid click or impression.' }),
  status: Type.Union([Type.Literal('recorded'), Type.Literal('void')]),
  event: Type.String({ description: '`click`, `impression`, or the event that the advertiser reports.' }),
  txn_id: Type.String(),
  offer_id: Type.Integer(),
  campaign_id: Type.Integer(),
  advertiser_name: Type.String(),
  payout: Type.Number(),
  unbilled: Type.Number({
    description: 'What it would have paid; then `payout` is 0.',
  }),
  unbilled_reason: Type.String({
    description: 'Why it is unbilled: `budget`, or `currency` (no exchange rate); empty where `unbilled` is 0.',
  }),
  currency: Type.String(),
  is_loyalty: Type.Boolean(),
  loyalty_amount: Type.Number(),
  click_time: Type.String({ description: 'A time; empty for an impression.' }),
  conversion_time: Type.String({ description: 'A time; empty for a click or an impression.' }),
  void_time: Type.String({ description: 'A time, or empty where nothing was voided.' }),
  timestamp: Type.String({ format: 'date-time', description: 'When it was booked.' }),
  session_id: Type.String({ format: 'uuid' }),
  pub_user_id: Type.String(),
  suspicious: Type.String(),
  payload: Type.Record(Type.String(), Type.Unknown(), { description: 'The custom attributes of the fetch.' }),
});

/** Postback of a conversion (docs/reference/tracking-and-conversions.md#conversions). */
export const conversionEvent: EventType = {
  name: postbackEvent,
  title: 'Postback',
  description:
    'Sent when a click is paid or an advertiser reports a conversion, and for paid impressions if the publisher ' +
    'wants them. The URL may hold macros such as {payout} or any custom key.',
  payload,
  sample: buildSample,
};

function buildSample({ nowMs }: SampleContext): Buffer {
  const click = {
    sessionId: firstUuid7At(nowMs),
    offerId: 1,
    campaignId: 1,
    advertiserName: 'Example Advertiser',
    pubUserId: 'test-user',
    custom: { subid: 'test' },
    conversion: null,
  };
  const booking = {
    id: firstUuid7At(nowMs),
    event: 'conversion',
    txnKey: '',
    isVoid: false,
    givenMicros: null,
    givenCurrency: null,
    payoutMicros: 1_500_000n,
    unbilledMicros: 0n,
    unbilledReason: null,
    currency: 'USD',
    isLoyalty: true,
    loyaltyMicros: 150_000_000n,
    suspicious: null,
    countedIn: null,
    clickAtMs: nowMs,
    bookedAtMs: nowMs,
  };
  return bookingPostback({ click, booking, txnId: 'test-transaction' });
}
