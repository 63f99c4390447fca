import { Type } from '@sinclair/typebox';
import { eachBeacon } from '../catalog/event-kinds.ts';
import { couponSchema } from '../coupons/coupon.ts';
import { withOldOfferNames } from '../offers/offer-view.ts';
import { firstUuid7At } from '../platform/lib/uuid7.ts';
import type { EventType, SampleContext } from '../webhooks/events.ts';
import { type ConfirmedPerk, perksOf } from './confirmed-perk.ts';
import { sampleOffer, sampleUserId } from './sample-offer.ts';

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
    aspect_ratio: Type.Number({ description: 'Width divided by height.' }),
    creative_type: text('`icon_image`, `offer_image` or `hero_image`.'),
    user_id: Type.Integer({ description: 'ID of the user who uploaded the image.' }),
  },
  { title: 'WebhookCreative' },
);

const campaign = Type.Object({
  campaign_id: Type.Integer(),
  language: Type.Optional(text('Language of the copy, as a BCP 47 tag. Omitted if the fetch has no language.')),
  advertiser_name: text(),
  title: text(),
  short_headline: text(),
  short_description: text(),
  offer_description: text(),
  description: text(),
  terms_and_conditions: text('Terms and conditions as HTML.'),
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
  events: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: 'Beacons of own events by name. Omitted without own events.',
    }),
  ),
  creatives: Type.Array(creative),
  useraction_cta: textOrNull,
  useraction_url: textOrNull,
  campaign: Type.Object({
    is_product: Type.Boolean(),
    offer_description: text(),
    campaign_images: Type.Array(creative),
  }),
  is_loyaltyboost: Type.Boolean({ description: 'Deprecated alias of `is_loyalty`.' }),
  loyaltyboost_requirements: requirements,
  perkswallet_enabled: Type.Boolean({ description: 'Deprecated alias of `wallet_enabled`.' }),
  coupon: Type.Optional(couponSchema),
});

const payload = Type.Object({
  body: Type.Object({
    pub_user_id: Type.String(),
    selected: Type.Union([Type.Literal(0), Type.Literal(1)], {
      description: '1 if offers were selected, or 0 if none were.',
    }),
    session_id: Type.String({ format: 'uuid' }),
    campaigns: Type.Array(campaign, { description: 'Selected campaigns in the order shown.' }),
    experiments: Type.Optional(
      Type.Array(Type.Object({ key: text(), arm: text() }), {
        description: 'Experiments that applied to the session, with their arms. Omitted if there were none.',
      }),
    ),
  }),
});

/** Webhook event type for a confirmed selection (docs/reference/webhooks.md#usp-webhook-payload). */
export const uspSelection: EventType = {
  name: 'usp.selection',
  title: 'User Selected Perks',
  description: 'Sent when a user confirms a selection of perks. Contains the selected offers.',
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
    language: 'en',
    dev: false,
  };
  const context = { publisher, offers: new Map([[offer.id, offer]]), tokens: { mint: () => 'test' }, publicUrl };
  return buildUspPayload(session, perksOf(session, [campaignId], context));
}

/** Session data that the payload contains in addition to the perks. */
type PayloadSession = {
  id: string;
  pubUserId: string | null;
  language: string | null;
  experiments?: readonly { key: string; arm: string }[];
};

/**
 * Builds the webhook payload (docs/reference/webhooks.md#usp-webhook-payload). It contains the confirmed perks with the
 * copy, tokens and URLs from the fetch response. An empty selection is valid. When you add a field, add it to the
 * schema above and to the receiver's type in `packages/client/src/webhook-events.ts`.
 */
export function buildUspPayload(
  { id, pubUserId, language, experiments = [] }: PayloadSession,
  perks: readonly ConfirmedPerk[],
): Buffer {
  const body = {
    pub_user_id: pubUserId ?? '',
    selected: perks.length > 0 ? 1 : 0,
    session_id: id,
    campaigns: perks.map((perk) => campaignOf(perk, language !== null)),
    ...(experiments.length > 0 && { experiments }),
  };
  return Buffer.from(JSON.stringify({ body }));
}

/** Builds a campaign object for the payload. `hasLanguage` says whether the fetch requested a language. */
function campaignOf(perk: ConfirmedPerk, hasLanguage: boolean) {
  const view = perk.view();
  return withOldOfferNames({
    campaign_id: perk.claims.campaignId,
    ...(hasLanguage && { language: view.language }),
    advertiser_name: view.advertiser_name,
    title: view.title,
    short_headline: view.short_headline,
    short_description: view.short_description,
    offer_description: view.campaign.offer_description,
    description: view.description,
    terms_and_conditions: view.terms_and_conditions,
    click_url: view.click_url,
    cta_yes: view.cta_yes,
    cta_no: view.cta_no,
    mini_text: view.mini_text,
    image: view.image,
    pixel: view.pixel,
    adv_pixel_url: view.adv_pixel_url,
    save_for_later_url: view.save_for_later_url ?? '',
    is_loyalty: view.is_loyalty,
    loyalty_requirements: view.loyalty_requirements === '' ? {} : { text: view.loyalty_requirements },
    offerwall_enabled: view.offerwall_enabled,
    wallet_enabled: view.wallet_enabled,
    tags: view.tags,
    beacons: view.beacons,
    ...(view.events !== undefined && { events: view.events }),
    creatives: view.creatives,
    useraction_cta: view.useraction_cta,
    useraction_url: view.useraction_url,
    campaign: view.campaign,
    ...(perk.coupon !== undefined && { coupon: perk.coupon }),
  });
}
