import type { RateRow } from '../../platform/exchange-rates.ts';
import type { Permission } from '../../platform/http/auth.ts';
import type { CampaignGoal, CampaignRules, FrequencyCap, PayoutKind, SequenceMatch, TotalCap } from '../rules.ts';
import type {
  ArmChanges,
  Campaign,
  CouponPool,
  CreativeType,
  PostbackEvent,
  Slots,
  StoredControls,
  Translation,
  Unit,
} from '../types.ts';

/** Rows of the configuration tables as returned by `pg`, with `numeric` and `bigint` values as strings. */
export type PublisherRow = {
  id: number;
  name: string;
  sdk_id: string;
  unit_enabled: boolean;
  offers_per_response: number;
  time_zone: string;
  currency_name: string;
  currency_multiplier: string;
  usp_enabled: boolean;
  wallet_enabled: boolean;
  offerwall_enabled: boolean;
  privacy_url: string | null;
  privacy_text: string;
  delivery_percentage: number;
  test_mode: boolean;
  frame_hosts: string[];
  default_placement: string | null;
  learning_excluded_keys?: string[];
  allowed_user_agents?: string[];
  postback_events?: PostbackEvent[];
  has_postbacks?: boolean;
  /** Block rules. Absent in rows stored before block rules existed. */
  controls?: StoredControls | null;
  keeps_attributes?: boolean;
  language?: string;
  own_events?: string[];
  reporting_currency?: string | null;
  /** Base currency of the publisher's exchange rates. */
  rates_base?: string | null;
};

/** Exchange rate that applies today or later. Earlier rates are needed only by reports, so they are not loaded here. */
export type ExchangeRateRow = RateRow & { publisher_id: number };

export type KeyRow = {
  id: number;
  name: string;
  publisher_id: number;
  key_hash: string;
  permissions: Permission[];
  rate_limit_per_s: number | null;
  /** Rate limits of the keys that created this key, including revoked ones. */
  maker_limits: { id: number; perS: number }[];
  expires_at: Date | null;
  read_only: boolean;
  allowed_addresses: string[] | null;
  campaigns: number[] | null;
  placements: string[] | null;
};

export type ThemeRow = {
  id: number;
  key: string;
  publisher_id: number;
  name: string;
  unit: Unit;
  is_default: boolean;
  usp_enabled: boolean;
  usp_check_all: boolean;
  offers_per_response: number | null;
  delivery_percentage: number | null;
  unit_enabled: boolean | null;
  settings: Record<string, unknown>;
  styles: Record<string, unknown>;
  appearance: Record<string, unknown>;
};

export type PlacementRow = {
  publisher_id: number;
  name: string;
  theme_id: number | null;
  offers_per_response: number | null;
  delivery_percentage: number | null;
  unit_enabled: boolean | null;
};

export type CampaignRow = {
  id: number;
  publisher_id: number;
  advertiser_id: number;
  advertiser_name: string;
  advertiser_events?: string[];
  name: string;
  category: string;
  tags: string[];
  active: boolean;
  priority: number;
  weight: number;
  ranking?: Campaign['ranking'];
  is_product: boolean;
  is_loyalty: boolean;
  offer_description: string;
  landing_url: string;
  click_id_param: string;
  opt_out_days: number | null;
  overspend_percent: number;
  goal?: CampaignGoal | null;
  goal_since?: Date | string | null;
  /** Time of the first activation. A string if the row was read from a stored catalogue. */
  activated_at: Date | string | null;
  /** Campaign rules as stored. Rules written directly to the database have not been validated. */
  rules: CampaignRules;
  payout_kind: PayoutKind;
  payout_amount: string;
  payout_currency: string;
  /** Whether the campaign is stopped by the kill switch. Absent in rows stored before the kill switch existed. */
  stopped?: boolean;
  advertiser_stopped?: boolean;
  deleted_at: Date | null;
};

export type ProvisionRow = {
  campaign_id: number;
  publisher_id: number;
  active: boolean;
  payout_amount: string | null;
  priority: number | null;
  frequency_caps: FrequencyCap[] | null;
  total_caps: TotalCap[] | null;
};

export type AudienceRow = { id: number; publisher_id: number; key: string };

export type SequenceRuleRow = {
  id: number;
  publisher_id: number;
  placement: string | null;
  positions: number[] | null;
  effect: 'allow' | 'deny';
  match: SequenceMatch;
  weight: number;
};

export type OfferRow = {
  id: number;
  publisher_id: number;
  campaign_id: number;
  active: boolean;
  weight: number;
  title: string;
  description: string;
  mini_text: string;
  short_headline: string;
  short_description: string;
  terms_and_conditions: string;
  cta_yes: string;
  cta_no: string;
  loyalty_requirements: string;
  useraction_cta: string | null;
  useraction_url: string | null;
  adv_pixel_url: string;
  wallet_enabled: boolean;
  offerwall_enabled: boolean;
  /** Language of the offer's copy. Like the translations, it is absent in rows stored before translations existed. */
  language?: string | null;
  translations?: Readonly<Record<string, Translation>>;
  /** Whether the offer is stopped by the kill switch. Absent in rows stored before the kill switch existed. */
  stopped?: boolean;
  /** Coupon pool of the offer. Null or absent if the offer has no coupon codes. */
  coupon?: CouponRow | null;
  deleted_at: Date | null;
};

export type CouponRow = {
  give_at: CouponPool['giveAt'];
  shared_code: string | null;
  terms: string;
  expires_at: string | null;
  valid_days: number | null;
  hold_minutes: number | null;
  drained: boolean;
};

export type CreativeRow = {
  id: number;
  offer_id: number;
  creative_type: CreativeType;
  is_primary: boolean;
  type: string;
  width: number;
  height: number;
  url: string | null;
  language?: string | null;
  user_id: number;
};

export type ExperimentRow = {
  id: number;
  publisher_id: number;
  key: string;
  version: number;
  salt: string;
  placements: string[] | null;
  campaign_id: number | null;
  holdout: number;
  arms: { key: string; share: number; changes: ArmChanges }[];
  allocation: Slots[];
  /** Start of the experiment in epoch milliseconds, or null for a draft. The end may be open. */
  start_ms: number | null;
  end_ms: number | null;
  ramp: { after_hours: number; share: number }[] | null;
};

export type CatalogRows = {
  version: number;
  publishers: PublisherRow[];
  keys: KeyRow[];
  themes: ThemeRow[];
  placements: PlacementRow[];
  /** Audiences. Absent in catalogues stored before audiences existed. */
  audiences?: AudienceRow[];
  campaigns: CampaignRow[];
  provisions: ProvisionRow[];
  sequenceRules: SequenceRuleRow[];
  offers: OfferRow[];
  creatives: CreativeRow[];
  /** Experiments. Absent in catalogues stored before experiments existed. */
  experiments?: ExperimentRow[];
  /** Exchange rates. Absent in catalogues stored before exchange rates existed. */
  exchangeRates?: ExchangeRateRow[];
};
