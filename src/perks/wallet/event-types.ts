import { Type } from '@sinclair/typebox';
import { buildOfferView } from '../../offers/offer-view.ts';
import type { EventType, SampleContext } from '../../webhooks/events.ts';
import { sampleOffer, sampleUserId } from '../sample-offer.ts';
import { buildWalletPayload, type WalletEvent } from './payload.ts';

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
    tnc: Type.String({ description: 'Terms and conditions, HTML.' }),
    timestamp: Type.String({ format: 'date-time' }),
  });

const eventType = (name: WalletEvent, title: string, description: string): EventType => ({
  name,
  title,
  description,
  payload: payloadOf(name),
  sample: (context) => buildSample(name, context),
});

/** The webhook events of the wallet (docs/interface.md#wallet). */
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
