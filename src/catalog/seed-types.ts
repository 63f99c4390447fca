import type { PayoutKind } from './rules.ts';
import type { CreativeType, Unit } from './types.ts';

/** A picture of a seed catalogue. `file` is its path. */
export type SeedCreative = { file: string; creative_type: CreativeType; is_primary: boolean };

type SeedOffer = {
  key: string;
  title: string;
  description: string;
  mini_text: string;
  terms_and_conditions: string;
  cta_yes: string;
  cta_no: string;
  short_description: string;
  short_headline: string;
  loyalty_requirements: string;
  useraction_cta: string | null;
  useraction_url: string | null;
  adv_pixel_url: string;
  wallet_enabled: boolean;
  offerwall_enabled: boolean;
  creatives: SeedCreative[];
};

export type SeedCampaign = {
  key: string;
  advertiser: string;
  name: string;
  category: string;
  tags: string[];
  priority: number;
  weight: number;
  payout_kind: PayoutKind;
  /** Amount in the currency, or percent of the sale for `cps`. */
  payout_amount: number;
  payout_currency: string;
  is_product: boolean;
  is_loyalty: boolean;
  offer_description: string;
  landing_url: string;
  click_id_param: string;
  offers: SeedOffer[];
};

/**
 * A catalogue in the format of demo/catalogue.json, with column names. `key` names an entry within the file, and a
 * theme in requests as well. The limits are those of the database.
 */
export type SeedCatalogue = {
  publisher: {
    name: string;
    offers_per_response: number;
    time_zone: string;
    currency_name: string;
    currency_multiplier: number;
    usp_enabled: boolean;
    wallet_enabled: boolean;
    offerwall_enabled: boolean;
    privacy_url: string | null;
    own_events?: string[];
  };
  themes: {
    key: string;
    name: string;
    unit: Unit;
    is_default: boolean;
    usp_enabled: boolean;
    usp_check_all: boolean;
    settings: Record<string, unknown>;
    styles: Record<string, unknown>;
    appearance?: Record<string, unknown>;
  }[];
  placements: { name: string; display_name: string; theme?: string }[];
  advertisers: { key: string; name: string }[];
  campaigns: SeedCampaign[];
};
