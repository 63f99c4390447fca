import { type Static, Type } from '@sinclair/typebox';
import { firstUuid7At } from '../../platform/lib/uuid7.ts';
import { microsToNumber } from '../../platform/money.ts';
import type { EventType, SampleContext } from '../../webhooks/events.ts';
import type { Booking } from '../bookings.ts';

/** Webhook event name for conversion postbacks. */
export const postbackEvent = 'conversion';

const payload = Type.Object({
  conversion_id: Type.String({ description: 'ID of the conversion, or of the paid click or impression.' }),
  status: Type.Union([Type.Literal('recorded'), Type.Literal('void')]),
  event: Type.String({ description: "`click`, `impression`, or the event name in the advertiser's report." }),
  txn_id: Type.String(),
  offer_id: Type.Integer(),
  campaign_id: Type.Integer(),
  advertiser_name: Type.String(),
  payout: Type.Number(),
  unbilled: Type.Number({
    description: 'Payout that was not booked. `payout` is then 0.',
  }),
  unbilled_reason: Type.String({
    description:
      'Why the payout was not booked: `budget`, or `currency` without an exchange rate. Empty if `unbilled` is 0.',
  }),
  currency: Type.String(),
  is_loyalty: Type.Boolean(),
  loyalty_amount: Type.Number(),
  click_time: Type.String({ description: 'Time of the click. Empty for an impression.' }),
  conversion_time: Type.String({ description: 'Time of the conversion. Empty for a click or an impression.' }),
  void_time: Type.String({ description: 'Time of the reversal. Empty if it was not reversed.' }),
  timestamp: Type.String({ format: 'date-time', description: 'Time of the booking.' }),
  session_id: Type.String({ format: 'uuid' }),
  pub_user_id: Type.String(),
  suspicious: Type.String(),
  payload: Type.Record(Type.String(), Type.Unknown(), { description: 'Custom attributes of the fetch.' }),
});

/** Postback body (docs/guides/conversions.md#for-publishers). */
type Postback = Static<typeof payload>;

/** Formats epoch milliseconds as an ISO 8601 time. Returns an empty string for null. */
export const isoOrEmpty = (timeMs: number | null): string => (timeMs === null ? '' : new Date(timeMs).toISOString());

/** Encodes a postback as JSON bytes. */
export const encodePostback = (postback: Postback): Buffer => Buffer.from(JSON.stringify(postback));

/** Click data that is included in a booking's postback. */
type PostedClick = {
  advertiserName: string;
  pubUserId: string | null;
  custom: Readonly<Record<string, string>>;
  /** Conversion that the void reverses, or null if none exists. */
  conversion: Booking | null;
};

/**
 * Builds the postback for a booking. The postback for a void contains the ID and time of the reversed conversion,
 * negative amounts, and the void's own time.
 */
export function bookingPostback(booking: Booking, click: PostedClick): Buffer {
  const conversion = (booking.isVoid ? click.conversion : null) ?? booking;
  return encodePostback({
    conversion_id: conversion.id,
    status: booking.isVoid ? 'void' : 'recorded',
    event: booking.event,
    txn_id: booking.txnId ?? '',
    offer_id: booking.offerId,
    campaign_id: booking.campaignId,
    advertiser_name: click.advertiserName,
    payout: microsToNumber(booking.payoutMicros),
    unbilled: microsToNumber(booking.unbilledMicros),
    unbilled_reason: booking.unbilledReason ?? '',
    currency: booking.currency,
    is_loyalty: booking.isLoyalty,
    loyalty_amount: microsToNumber(booking.loyaltyMicros),
    click_time: isoOrEmpty(booking.clickAtMs),
    conversion_time: isoOrEmpty(conversion.bookedAtMs),
    void_time: isoOrEmpty(booking.isVoid ? booking.bookedAtMs : null),
    timestamp: isoOrEmpty(booking.bookedAtMs),
    session_id: booking.sessionId,
    pub_user_id: click.pubUserId ?? '',
    suspicious: booking.suspicious ?? '',
    payload: click.custom,
  });
}

const buildSample = ({ nowMs }: SampleContext): Buffer =>
  encodePostback({
    conversion_id: firstUuid7At(nowMs),
    status: 'recorded',
    event: 'conversion',
    txn_id: 'test-transaction',
    offer_id: 1,
    campaign_id: 1,
    advertiser_name: 'Example Advertiser',
    payout: 1.5,
    unbilled: 0,
    unbilled_reason: '',
    currency: 'USD',
    is_loyalty: true,
    loyalty_amount: 150,
    click_time: isoOrEmpty(nowMs),
    conversion_time: isoOrEmpty(nowMs),
    void_time: '',
    timestamp: isoOrEmpty(nowMs),
    session_id: firstUuid7At(nowMs),
    pub_user_id: 'test-user',
    suspicious: '',
    payload: { subid: 'test' },
  });

/** Event type of conversion postbacks (docs/reference/tracking-and-conversions.md#conversions). */
export const conversionEvent: EventType = {
  name: postbackEvent,
  title: 'Postback',
  description:
    'Sent for paid clicks and reported conversions, and for paid impressions if the publisher enables them. The ' +
    'URL can contain macros, such as {payout} or any custom attribute.',
  payload,
  sample: buildSample,
};
