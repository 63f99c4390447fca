/** Macros of landing URLs (docs/reference/tracking-and-conversions.md#tracking-urls). */
export const landingMacros = [
  'click_id',
  'session_id',
  'placement',
  'offer_id',
  'campaign_id',
  'publisher_id',
  'coupon_code',
] as const;

export type LandingMacro = (typeof landingMacros)[number];

/** Macros of an advertiser's impression URL, which the web SDK fills. */
export const pixelMacros = ['cbuster'] as const;
