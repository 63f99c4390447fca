import { type Static, Type } from '@sinclair/typebox';
import { eachBeacon } from '../catalog/event-kinds.ts';
import { type LimitedText, offerLimits } from '../catalog/names.ts';

import { codeSchema } from '../coupons/coupon.ts';

/** Schema of the creative object (docs/reference/fetch-offers.md#creative-object). */
const creativeSchema = Type.Object(
  {
    id: Type.Integer(),
    url: Type.String({ format: 'uri' }),
    height: Type.Integer({ description: 'Height in pixels.' }),
    width: Type.Integer({ description: 'Width in pixels.' }),
    type: Type.String({ description: 'File type, such as `png`.' }),
    is_primary: Type.Boolean(),
    aspect_ratio: Type.Number({
      description: 'Width divided by height: 1 is square, less than 1 is portrait, more than 1 is landscape.',
    }),
    creative_type: Type.Union([Type.Literal('icon_image'), Type.Literal('offer_image'), Type.Literal('hero_image')]),
    user_id: Type.Integer({ description: 'ID of the user who uploaded the image.' }),
  },
  { $id: 'Creative' },
);

const creativeRef = Type.Unsafe<Static<typeof creativeSchema>>(Type.Ref('Creative'));

const nullableText = Type.Union([Type.String(), Type.Null()]);

const limitOf = (name: LimitedText): { maxLength: number } => ({ maxLength: offerLimits[name].maxLength });

/** Schema of the offer object (docs/reference/fetch-offers.md#offer-object). */
export const offerSchema = Type.Object(
  {
    id: Type.Integer(),
    campaign_id: Type.Integer(),
    language: Type.String({ description: 'Language of the copy, as a BCP 47 tag.' }),
    title: Type.String(limitOf('title')),
    advertiser_name: Type.String(),
    description: Type.String(limitOf('description')),
    click_url: Type.String({ format: 'uri' }),
    image: Type.String({ description: 'URL of the primary image, or empty.' }),
    mini_text: Type.String(limitOf('mini_text')),
    terms_and_conditions: Type.String({ description: 'Terms and conditions as sanitised HTML.' }),
    pixel: Type.String({
      format: 'uri',
      description: 'Impression beacon. You can replace `{cbuster}` with a random value.',
    }),
    cta_yes: Type.String(limitOf('cta_yes')),
    cta_no: Type.String(limitOf('cta_no')),
    useraction_cta: nullableText,
    useraction_url: nullableText,
    adv_pixel_url: Type.String(),
    beacons: Type.Object(eachBeacon(() => Type.String({ format: 'uri' }))),
    events: Type.Optional(
      Type.Record(Type.String(), Type.String({ format: 'uri' }), {
        description: 'Beacons of own events by name. Omitted without own events.',
      }),
    ),
    creatives: Type.Array(creativeRef),
    offerwall_enabled: Type.Boolean(),
    wallet_enabled: Type.Boolean(),
    perkswallet_enabled: Type.Boolean({ description: 'Deprecated alias of `wallet_enabled`.' }),
    save_for_later_url: nullableText,
    short_description: Type.String(limitOf('short_description')),
    short_headline: Type.String(limitOf('short_headline')),
    is_loyalty: Type.Boolean(),
    is_loyaltyboost: Type.Boolean({ description: 'Deprecated alias of `is_loyalty`.' }),
    tags: Type.Array(Type.String()),
    campaign: Type.Object({
      is_product: Type.Boolean(),
      offer_description: Type.String(),
      campaign_images: Type.Array(creativeRef),
    }),
    offerwall_url: Type.String({ format: 'uri' }),
    qr_code_img: Type.String({ description: 'PNG image of 228 × 228 pixels as a data URI.' }),
    loyalty_requirements: Type.String(limitOf('loyalty_requirements')),
    loyaltyboost_requirements: Type.String({
      ...limitOf('loyalty_requirements'),
      description: 'Deprecated alias of `loyalty_requirements`.',
    }),
    coupon: Type.Optional(
      Type.Unsafe<Static<typeof codeSchema>>({ ...codeSchema, description: 'Coupon, if all users get the same code.' }),
    ),
  },
  { $id: 'Offer' },
);

/** Schema of the fetch-offers response (docs/reference/fetch-offers.md#response). */
export const fetchOffersAnswer = Type.Object(
  {
    data: Type.Object({
      offers: Type.Array(Type.Unsafe<Static<typeof offerSchema>>(Type.Ref('Offer'))),
      count: Type.Integer(),
      language: Type.String({ description: 'Language of the text in `settings` and `styles`, as a BCP 47 tag.' }),
      privacy_url: Type.String({ format: 'uri' }),
      session_id: Type.String({ format: 'uuid' }),
      settings: Type.Record(Type.String(), Type.Unknown()),
      styles: Type.Record(Type.String(), Type.Unknown()),
      appearance: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), {
          description: 'Appearance. Only for themes with dark mode, width, spacing or a web font.',
        }),
      ),
      experiments: Type.Optional(
        Type.Array(Type.Object({ key: Type.String(), arm: Type.String() }), {
          description: 'Experiments that apply, with the arm of each. Omitted if there are none.',
        }),
      ),
      labels: Type.Optional(
        Type.Record(Type.String(), Type.String(), {
          description: 'Labels of the web SDK that an experiment changes.',
        }),
      ),
    }),
  },
  { title: 'OnePlacementAnswer' },
);

const placementAnswer = Type.Object({
  name: Type.String({ description: 'Name of the placement in the request.' }),
  ...fetchOffersAnswer.properties.data.properties,
});

/** Response schema for a call with several placements (docs/reference/fetch-offers.md#multiple-placements). */
export const fetchPlacementsAnswer = Type.Object({ data: Type.Object({ placements: Type.Array(placementAnswer) }) });

/**
 * Combined schema for both kinds of fetch-offers response, so that generated clients can read `data.offers` without a
 * type check. A call with several placements returns only `data.placements`
 * (docs/reference/fetch-offers.md#multiple-placements).
 */
export const fetchAnswer = Type.Object(
  {
    data: Type.Object({
      ...fetchOffersAnswer.properties.data.properties,
      placements: Type.Optional(
        Type.Array(placementAnswer, {
          description:
            'Only if the request contains `placements`: one entry for each, in the same order. All other fields ' +
            'are then omitted.',
        }),
      ),
    }),
  },
  { title: 'FetchOffersAnswer' },
);

/** Response schema for a call that requests only offer counts (docs/reference/fetch-offers.md#count-offers). */
export const countAnswer = Type.Object(
  {
    data: Type.Union([
      Type.Object({ count: Type.Integer() }),
      Type.Object({ placements: Type.Array(Type.Object({ name: Type.String(), count: Type.Integer() })) }),
    ]),
  },
  { title: 'CountAnswer' },
);

export type FetchPlacementsAnswer = Static<typeof fetchPlacementsAnswer>;
export type FetchOffersAnswer = Static<typeof fetchOffersAnswer>;

/** Schemas that other schemas reference by `$id`. */
export const offerSchemas = [creativeSchema, offerSchema];
