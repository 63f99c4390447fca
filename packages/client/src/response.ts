import type { OfferAppearance, OfferSettings, OfferStyles } from './appearance.ts';

/** fetch-offers response (docs/reference/fetch-offers.md#response). */
export type FetchOffersResponse = { data: OfferData };

/**
 * Response to a call for several placements, in the order of the request
 * (docs/reference/fetch-offers.md#multiple-placements).
 */
export type FetchPlacementsResponse = { data: { placements: PlacementData[] } };

/** Offers for one placement. `name` is the placement name from the request. */
export type PlacementData = OfferData & { name: string };

export type OfferData = {
  offers: Offer[];
  /** Number of offers. If it is 0, the offer section can be skipped. */
  count: number;
  /** Language used in `settings` and `styles`, as a BCP 47 tag. */
  language: string;
  privacy_url: string;
  /** Session ID, required by the User Selected Perks calls. */
  session_id: string;
  settings: OfferSettings;
  styles: OfferStyles & { settings: OfferSettings };
  /** Present only if the theme sets it. If absent, the unit uses the light colour scheme. */
  appearance?: OfferAppearance;
  /** Experiments that the session takes part in, each with its assigned arm. Absent if none exists. */
  experiments?: ExperimentArm[];
  /** Web SDK labels that an experiment overrides. */
  labels?: Record<string, string>;
};

/** Experiment and the arm that the session is assigned to. Sessions in the `holdout` arm show no offers. */
export type ExperimentArm = { key: string; arm: string };

/** Offer (docs/reference/fetch-offers.md#offer-object). Every field is always present. Missing copy is "". */
export type Offer = {
  id: number;
  campaign_id: number;
  /** Language of the offer's copy, as a BCP 47 tag. */
  language: string;
  title: string;
  advertiser_name: string;
  description: string;
  click_url: string;
  image: string;
  mini_text: string;
  /** Terms and conditions as sanitised HTML. */
  terms_and_conditions: string;
  /** Impression beacon URL, for {@link fireBeacon}. */
  pixel: string;
  cta_yes: string;
  cta_no: string;
  useraction_cta: string | null;
  useraction_url: string | null;
  /** Advertiser's impression URL, to fire together with `pixel`. May be "". */
  adv_pixel_url: string;
  beacons: Beacons;
  /** Beacon URLs for custom events, keyed by event name, for {@link fireBeacon}. Absent if none exists. */
  events?: Record<string, string>;
  creatives: Creative[];
  offerwall_enabled: boolean;
  wallet_enabled: boolean;
  /** URL for saving the offer to the user's wallet with a POST request. Null without a `pub_user_id` or a wallet. */
  save_for_later_url: string | null;
  offerwall_url: string;
  /** QR code as a PNG data URI, 228×228 pixels. */
  qr_code_img: string;
  short_description: string;
  short_headline: string;
  is_loyalty: boolean;
  loyalty_requirements: string;
  tags: string[];
  campaign: OfferCampaign;
  /** @deprecated Alias of `is_loyalty`. */
  is_loyaltyboost: boolean;
  /** @deprecated Alias of `loyalty_requirements`. */
  loyaltyboost_requirements: string;
  /** @deprecated Alias of `wallet_enabled`. */
  perkswallet_enabled: boolean;
  /** Coupon code shared by all users. Individual codes are issued when the session is wrapped. */
  coupon?: Coupon;
};

/** User's coupon code for an offer (docs/reference/perks-and-wallet.md#coupons). */
export type Coupon = {
  code: string;
  /** Expiry time in ISO 8601 format. Null if the code does not expire. */
  expires_at: string | null;
  /** Terms as plain text, or "". */
  terms: string;
};

/**
 * Beacon URLs by event. Fire each one when its event occurs (docs/reference/tracking-and-conversions.md#tracking-urls).
 */
export type Beacons = {
  /** Fired when the unit is closed or all offers have been seen. */
  close: string;
  /** Fired when the user declines the offer. */
  no_thanks_click: string;
};

export type OfferCampaign = { is_product: boolean; offer_description: string; campaign_images: Creative[] };

/** Offer image (docs/reference/fetch-offers.md#creative-object). `width` and `height` are in pixels. */
export type Creative = {
  id: number;
  url: string;
  height: number;
  width: number;
  /** Image file type, such as "png". */
  type: string;
  is_primary: boolean;
  /** Width-to-height ratio. */
  aspect_ratio: number;
  creative_type: 'icon_image' | 'offer_image' | 'hero_image';
  /** ID of the dashboard user who uploaded the image. */
  user_id: number;
};
