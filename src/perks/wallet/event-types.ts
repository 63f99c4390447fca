import { Type } from '@sinclair/typebox';
import { type Coupon, couponSchema } from '../../coupons/coupon.ts';
import { buildOfferView, type OfferView } from '../../offers/offer-view.ts';
import type { EventType, SampleContext } from '../../webhooks/events.ts';
import { sampleOffer, sampleUserId } from '../sample-offer.ts';

export type WalletEvent = 'offer_saved' | 'offer_removed';

type Told = {
  event: WalletEvent;
  item: { pubUserId: string; offerId: number };
  atMs: number;
  coupon?: Coupon | undefined;
};

/**
 * Builds the body of a wallet webhook (docs/reference/perks-and-wallet.md#wallet) with the offer as the user saw it. A
 * null `view` means that the offer is no longer in the catalogue, and its copy is then empty. Pure function.
 */
export function buildWalletPayload({ event, item, atMs, coupon }: Told, view: OfferView | null): Buffer {
  return Buffer.from(
    JSON.stringify({
      event,
      pub_user_id: item.pubUserId,
      offer_id: item.offerId,
      advertiser_name: view?.advertiser_name ?? '',
      headline: view?.title ?? '',
      short_headline: view?.short_headline ?? '',
      description: view?.description ?? '',
      short_description: view?.short_description ?? '',
      mini_text: view?.mini_text ?? '',
      click_url: view?.click_url ?? '',
      image: view?.image ?? '',
      cta_yes: view?.cta_yes ?? '',
      cta_no: view?.cta_no ?? '',
      tnc: view?.terms_and_conditions ?? '',
      timestamp: new Date(atMs).toISOString(),
      ...(coupon === undefined ? {} : { coupon }),
    }),
  );
}

const payloadOf = (event: WalletEvent) =>
  Type.Object({
    event: Type.Literal(event),
    pub_user_id: Type.String(),
    offer_id: Type.Integer(),
    advertiser_name: Type.String(),
    headline: Type.String(),
    short_headline: Type.String(),
    description: Type.String(),
    short_description: Type.String(),
    mini_text: Type.String(),
    click_url: Type.String(),
    image: Type.String(),
    cta_yes: Type.String(),
    cta_no: Type.String(),
    tnc: Type.String({ description: 'Terms and conditions as HTML.' }),
    timestamp: Type.String({ format: 'date-time' }),
    coupon: Type.Optional(couponSchema),
  });

const eventType = (name: WalletEvent, title: string, description: string): EventType => ({
  name,
  title,
  description,
  payload: payloadOf(name),
  sample: (context) => buildSample(name, context),
});

/** Webhook event types of the wallet (docs/reference/perks-and-wallet.md#wallet). */
export const offerSaved = eventType('offer_saved', 'Offer saved', 'Sent when a user saves an offer to the wallet.');
export const offerRemoved = eventType(
  'offer_removed',
  'Offer removed',
  'Sent when a user removes an offer from the wallet.',
);

function buildSample(event: WalletEvent, { publisher, publicUrl, nowMs }: SampleContext): Buffer {
  const offer = sampleOffer(publisher.id, publicUrl);
  const rest = { token: 'test', hasUser: true, qrCode: '', publicUrl };
  const view = buildOfferView({ offer, publisher, copy: offer.copy, ...rest });
  return buildWalletPayload({ event, item: { pubUserId: sampleUserId, offerId: offer.id }, atMs: nowMs }, view);
}
