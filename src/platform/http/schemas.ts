import { type Static, type TSchema, Type } from '@sinclair/typebox';

/** The error form (docs/interface.md#errors), as documented for every route. */
export const errorSchema = Type.Object(
  {
    message: Type.String(),
    error: Type.Object({
      code: Type.String({ examples: ['invalid_request'] }),
      message: Type.String(),
      details: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
    }),
    request_id: Type.String(),
  },
  { $id: 'Error', description: 'Every error answer of every route.' },
);

/** The error answers of a route by status, for its `response` schema. */
export const errorAnswers = (...statuses: number[]): Record<number, TSchema> =>
  Object.fromEntries([...statuses, 429, 500, 503].map((status) => [status, Type.Ref('Error')]));

export const creativeSchema = Type.Object(
  {
    id: Type.Integer(),
    url: Type.String({ format: 'uri' }),
    height: Type.Integer({ description: 'Pixels.' }),
    width: Type.Integer({ description: 'Pixels.' }),
    type: Type.String({ description: 'File type, such as png.' }),
    is_primary: Type.Boolean(),
    aspect_ratio: Type.Number({ description: 'Width by height: 1 is square, below 1 portrait, above 1 landscape.' }),
    creative_type: Type.Union([Type.Literal('icon_image'), Type.Literal('offer_image'), Type.Literal('hero_image')]),
    user_id: Type.Integer({ description: 'Who uploaded it.' }),
  },
  { $id: 'Creative' },
);

const creativeRef = Type.Unsafe<Static<typeof creativeSchema>>(Type.Ref('Creative'));

/** Text without NUL, which PostgreSQL refuses. */
export const noNul = '^[^\\u0000]*$';

/** The same, and more than blanks. */
export const noNulNotBlank = '^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$';

/** Optional text; numbers are taken as text. */
export const textOrNumber = (maxLength: number, description: string) =>
  Type.Optional(Type.Union([Type.String({ maxLength, pattern: noNul }), Type.Number()], { description }));

const nullableText = Type.Union([Type.String(), Type.Null()]);

/** The offer object (docs/interface.md#offer-object). */
export const offerSchema = Type.Object(
  {
    id: Type.Integer(),
    campaign_id: Type.Integer(),
    title: Type.String({ maxLength: 90 }),
    advertiser_name: Type.String(),
    description: Type.String({ maxLength: 220 }),
    click_url: Type.String({ format: 'uri' }),
    image: Type.String({ description: 'Primary image; empty when there is none.' }),
    mini_text: Type.String({ maxLength: 160 }),
    terms_and_conditions: Type.String({ description: 'Sanitised HTML.' }),
    pixel: Type.String({ format: 'uri', description: 'Impression beacon; `{cbuster}` in it may be replaced.' }),
    cta_yes: Type.String({ maxLength: 25 }),
    cta_no: Type.String({ maxLength: 25 }),
    useraction_cta: nullableText,
    useraction_url: nullableText,
    adv_pixel_url: Type.String(),
    beacons: Type.Object({ close: Type.String({ format: 'uri' }), no_thanks_click: Type.String({ format: 'uri' }) }),
    creatives: Type.Array(creativeRef),
    offerwall_enabled: Type.Boolean(),
    wallet_enabled: Type.Boolean(),
    perkswallet_enabled: Type.Boolean({ description: 'Old name of wallet_enabled.' }),
    save_for_later_url: nullableText,
    short_description: Type.String({ maxLength: 140 }),
    short_headline: Type.String({ maxLength: 60 }),
    is_loyalty: Type.Boolean(),
    is_loyaltyboost: Type.Boolean({ description: 'Old name of is_loyalty.' }),
    tags: Type.Array(Type.String()),
    campaign: Type.Object({
      is_product: Type.Boolean(),
      offer_description: Type.String(),
      campaign_images: Type.Array(creativeRef),
    }),
    offerwall_url: Type.String({ format: 'uri' }),
    qr_code_img: Type.String({ description: 'Data URI of a PNG, 228×228 pixels.' }),
    loyalty_requirements: Type.String({ maxLength: 160 }),
    loyaltyboost_requirements: Type.String({ maxLength: 160, description: 'Old name of loyalty_requirements.' }),
  },
  { $id: 'Offer' },
);

/** The answer of fetch-offers (docs/interface.md#response). */
export const fetchOffersAnswer = Type.Object(
  {
    data: Type.Object({
      offers: Type.Array(Type.Unsafe<Static<typeof offerSchema>>(Type.Ref('Offer'))),
      count: Type.Integer(),
      privacy_url: Type.String({ format: 'uri' }),
      session_id: Type.String({ format: 'uuid' }),
      settings: Type.Record(Type.String(), Type.Unknown()),
      styles: Type.Record(Type.String(), Type.Unknown()),
      appearance: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), { description: 'Only of themes with dark mode, width or spacing.' }),
      ),
    }),
  },
  { title: 'FetchOffersAnswer' },
);

export type FetchOffersAnswer = Static<typeof fetchOffersAnswer>;

/** Schemas that others refer to by their `$id`. */
export const sharedSchemas = [errorSchema, creativeSchema, offerSchema];
