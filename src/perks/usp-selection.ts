import { Type } from '@sinclair/typebox';
import { eachBeacon } from '../catalog/event-kinds.ts';
import { firstUuid7At } from '../platform/lib/uuid7.ts';
import type { EventType, SampleContext } from '../webhooks/events.ts';
import { sampleOffer, sampleUserId } from './sample-offer.ts';
import { buildUspPayload } from './usp-payload.ts';

const text = (description?: string) => Type.String(description === undefined ? {} : { description });
const textOrNull = Type.Union([Type.String(), Type.Null()]);
const requirements = Type.Object({ text: Type.Optional(Type.String()) });

const creative = Type.Object(
  {
    id: Type.Integer(),
    url: text(),
    height: Type.Integer(),
    width: Type.Integer(),
    type: text('File type.'),
    is_primary: Type.Boolean(),
    aspect_ratio: Type.Number({ description: 'Width by height.' }),
    creative_type: text('`icon_image`, `offer_image` or `hero_image`.'),
    user_id: Type.Integer({ description: 'Who uploaded it.' }),
  },
  { title: 'WebhookCreative' },
);

const campaign = Type.Object({
  campaign_id: Type.Integer(),
  advertiser_name: text(),
  title: text(),
  short_headline: text(),
  short_description: text(),
  offer_description: text(),
  description: text(),
  terms_and_conditions: text('HTML.'),
  click_url: text(),
  cta_yes: text(),
  cta_no: text(),
  mini_text: text(),
  image: text(),
  pixel: text(),
  adv_pixel_url: text(),
  save_for_later_url: text(),
  is_loyalty: Type.Boolean(),
  loyalty_requirements: requirements,
  offerwall_enabled: Type.Boolean(),
  wallet_enabled: Type.Boolean(),
  tags: Type.Array(Type.String()),
  beacons: Type.Object(eachBeacon(() => text())),
  creatives: Type.Array(creative),
  useraction_cta: textOrNull,
  useraction_url: textOrNull,
  campaign: Type.Object({
    is_product: Type.Boolean(),
    offer_description: text(),
    campaign_images: Type.Array(creative),
  }),
  is_loyaltyboost: Type.Boolean({ description: 'Old name of `is_loyalty`.' }),
  loyaltyboost_requirements: requirements,
  perkswallet_enabled: Type.Boolean({ description: 'Old name of `wallet_enabled`.' }),
});

const payload = Type.Object({
  body: Type.Object({
    pub_user_id: Type.String(),
    selected: Type.Union([Type.Literal(0), Type.Literal(1)], { description: '0 where nothing was selected.' }),
    session_id: Type.String({ format: 'uuid' }),
    campaigns: Type.Array(campaign, { description: 'The selected campaigns in the order shown.' }),
  }),
});

/** Sent when a user's selection is confirmed (docs/interface.md#usp-webhook-payload). */
export const uspSelection: EventType = {
  name: 'usp.selection',
  title: 'User Selected Perks',
  description: 'Sent when a user’s perks are confirmed, with what was picked.',
  payload,
  sample: buildSample,
};

function buildSample({ publisher, publicUrl, nowMs }: SampleContext): Buffer {
  const offer = sampleOffer(publisher.id, publicUrl);
  const campaignId = offer.campaign.id;
  const session = {
    id: firstUuid7At(nowMs),
    pubUserId: sampleUserId,
    offerIds: [offer.id],
    campaignIds: [campaignId],
    macros: {},
    dev: false,
  };
  const context = { publisher, offers: new Map([[offer.id, offer]]), tokens: { mint: () => 'test' }, publicUrl };
  return buildUspPayload(session, [campaignId], context);
}
