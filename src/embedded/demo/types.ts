import type { CreativeType, Unit } from '../../catalog/snapshot/types.ts';

/** Shape of demo/catalogue.json. `key` names an entry within the file; limits are those of the database. */
export type DemoCreative = { file: string; creative_type: CreativeType; is_primary: boolean };

export type DemoOffer = {
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
  creatives: DemoCreative[];
};

export type DemoCampaign = {
  key: string;
  advertiser: string;
  name: string;
  category: string;
  tags: string[];
  priority: number;
  weight: number;
  is_product: boolean;
  is_loyalty: boolean;
  offer_description: string;
  landing_url: string;
  click_id_param: string;
  offers: DemoOffer[];
};

export type DemoCatalogue = {
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
  }[];
  placements: { name: string; display_name: string; theme?: string }[];
  advertisers: { key: string; name: string }[];
  campaigns: DemoCampaign[];
};
