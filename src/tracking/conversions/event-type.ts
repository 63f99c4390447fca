import { Type } from '@sinclair/typebox';
import { firstUuid7At } from '../../platform/lib/uuid7.ts';
import type { EventType, SampleContext } from '../../webhooks/events.ts';
import { postbackEvent } from './booking.ts';
import { buildPostback } from './postback.ts';

const dateTime = Type.String({ format: 'date-time' });

const payload = Type.Object({
  conversion_id: Type.String(),
  status: Type.Union([Type.Literal('recorded'), Type.Literal('void')]),
  event: Type.String(),
  txn_id: Type.String(),
  offer_id: Type.Integer(),
  campaign_id: Type.Integer(),
  advertiser_name: Type.String(),
  payout: Type.Number(),
  unbilled: Type.Number({
    description: 'What it would have paid, had it fitted into the budget of the campaign; then `payout` is 0.',
  }),
  currency: Type.String(),
  is_loyalty: Type.Boolean(),
  loyalty_amount: Type.Number(),
  click_time: dateTime,
  conversion_time: dateTime,
  void_time: Type.String({ description: 'A time, or empty where nothing was voided.' }),
  session_id: Type.String({ format: 'uuid' }),
  pub_user_id: Type.String(),
  suspicious: Type.String(),
  payload: Type.Record(Type.String(), Type.Unknown(), { description: 'The custom attributes of the fetch.' }),
});

/** The postback of a conversion (docs/interface.md#conversions). */
export const conversionEvent: EventType = {
  name: postbackEvent,
  title: 'Conversion postback',
  description:
    'Sent when an advertiser reports a conversion. The URL may hold macros such as {payout} or any custom key.',
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
    isVoid: false,
    payoutMicros: 1_500_000n,
    unbilledMicros: 0n,
    currency: 'USD',
    isLoyalty: true,
    loyaltyMicros: 150_000_000n,
    suspicious: null,
    countedIn: null,
    clickAtMs: nowMs,
    bookedAtMs: nowMs,
  };
  return buildPostback({ click, booking, txnId: 'test-transaction' });
}
