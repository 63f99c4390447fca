import type { OfferAppearance, OfferSettings, OfferStyles } from './appearance.ts';

/** Response of fetch-offers (docs/reference/fetch-offers.md#response). */
export type FetchOffersResponse = { data: OfferData };

/**
 * Response to a call for several placements, in the same order (docs/reference/fetch-offers.md#multiple-placements).
 */
export type FetchPlacementsResponse = { data: { placements: PlacementData[] } };

/** `name`: placement name as in the call. */
export type PlacementData = OfferData & { name: string };

export type OfferData = {
  offers: Offer[];
  /** Number of offers; 0 means that the offer section can be skipped. */
  count: number;
  /** BCP 47 tag of the texts in `settings` and `styles`. */
  language: string;
  privacy_url: string;
  /** Id of the session for the calls of User Selected Perks. */
  session_id: string;
  settings: OfferSettings;
  styles: OfferStyles & { settings: OfferSettings };
  /** Only for themes that set it; without it, the unit is light. */
  appearance?: OfferAppearance;
  /** Experiments of the session with its arms; absent if there are none. */
  experiments?: ExperimentArm[];
  /** Texts of the web SDK that an experiment changes. */
  labels?: Record<string, string>;
};

/** An experiment and the arm of the session; `holdout` shows no offers. */
export type ExperimentArm = { key: string; arm: string };

/** One offer (docs/reference/fetch-offers.md#offer-object). Every field is always present; absent text is "". */
export type Offer = {
  id: number;
  campaign_id: number;
  /** BCP 47 tag of the texts. */
  language: string;
  title: string;
  advertiser_name: string;
  description: string;
  click_url: string;
  image: string;
  mini_text: string;
  /** Sanitised HTML. */
  terms_and_conditions: string;
  /** Impression beacon, for {@link fireBeacon}. */
  pixel: string;
  cta_yes: string;
  cta_no: string;
  useraction_cta: string | null;
  useraction_url: string | null;
  /** Impression URL of the advertiser, fired with `pixel`; may be "". */
  adv_pixel_url: string;
  beacons: Beacons;
  /** Beacons of own events by name, for {@link fireBeacon}; absent if there are none. */
  events?: Record<string, string>;
  creatives: Creative[];
  offerwall_enabled: boolean;
  wallet_enabled: boolean;
  /** A POST saves the offer to the user's wallet; null without `pub_user_id` or wallet. */
  save_for_later_url: string | null;
  offerwall_url: string;
  /** PNG data URI, 228×228 pixels. */
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
  /** Shared code of all users; individual codes are issued with the wrap. */
  coupon?: Coupon;
};

/** Code of a user for an offer (docs/reference/perks-and-wallet.md#coupons). */
export type Coupon = {
  code: string;
  /** Expiry in ISO 8601, or null. */
  expires_at: string | null;
  /** Plain text, or "". */
  terms: string;
};

/** Beacon URLs to fire when the event happens (docs/reference/tracking-and-conversions.md#tracking-urls). */
export type Beacons = {
  /** The unit was closed, or all offers were seen. */
  close: string;
  /** The user declined the offer. */
  no_thanks_click: string;
};

export type OfferCampaign = { is_product: boolean; offer_description: string; campaign_images: Creative[] };

/** An image (docs/reference/fetch-offers.md#creative-object). `width` and `height` in pixels. */
export type Creative = {
  id: number;
  url: string;
  height: number;
  width: number;
  /** File type, such as "png". */
  type: string;
  is_primary: boolean;
  /** Ratio of width to height. */
  aspect_ratio: number;
  creative_type: 'icon_image' | 'offer_image' | 'hero_image';
  /** Id of the user who uploaded the image. */
  user_id: number;
};
