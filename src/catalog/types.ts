import type { ExchangeRates } from '../platform/exchange-rates.ts';
import type { KeyLimit, Permission } from '../platform/http/auth.ts';
import type { KeyRestrictions } from '../platform/http/key-restrictions.ts';
import type { Wanted } from '../platform/i18n/reader.ts';
import type { CouponPool } from './coupon-pool.ts';
import type { Experiment } from './experiments.ts';
import type { OfferCopy, Translations } from './offer-texts.ts';
import type { PostbackEvent } from './postback-events.ts';
import type { CampaignRules, FrequencyCap, Goal, PayoutKind, SequenceMatch, TotalCap } from './rules.ts';

export type Unit = 'sou' | 'mou';

export type Theme = {
  id: number;
  /** Normalised; names it in requests and pages. */
  key: string;
  name: string;
  unit: Unit;
  uspEnabled: boolean;
  uspCheckAll: boolean;
  /** null, here and below: as the publisher. */
  offersPerResponse: number | null;
  deliveryPercentage: number | null;
  unitEnabled: boolean | null;
  /** Stored overrides of the defaults. */
  settings: Readonly<Record<string, unknown>>;
  styles: Readonly<Record<string, unknown>>;
  appearance: Readonly<Record<string, unknown>>;
};

/** null: as the theme, else the publisher. */
export type Placement = {
  name: string;
  themeId: number | null;
  offersPerResponse: number | null;
  deliveryPercentage: number | null;
  unitEnabled: boolean | null;
};

/** Which offers may or may not be shown at positions of a placement. */
export type SequenceRule = {
  id: number;
  /** null: all placements. */
  placement: string | null;
  /** 1 to 10; null: all positions. */
  positions: readonly number[] | null;
  effect: 'allow' | 'deny';
  match: SequenceMatch;
  weight: number;
};

/** What is never shown, and what alone is: of each list that has entries an offer must match one. */
export type OfferLists = {
  blocked: {
    categories: string[];
    brands: string[];
    advertisers: number[];
    domains: string[];
    offers: number[];
    words: string[];
  };
  allowed: { categories: string[]; brands: string[]; advertisers: number[]; domains: string[] };
};

/** The rules of a publisher as they are stored (docs/reference/management.md#block-rules). */
export type StoredControls = OfferLists & {
  /** Beside those for all placements, by normalised name. */
  placements: Record<string, OfferLists>;
  separate: { categories: boolean; competitors: (string | number)[] };
  /** Money for 1,000 impressions, by placement. */
  floors: Record<string, number>;
};

/** The rule of a publisher that keeps an offer from being shown, and what of it matched. */
export type Block = {
  by:
    | ('category' | 'brand' | 'advertiser' | 'domain' | 'offer' | 'word' | 'competitor')
    /** It is on none of the entries of a list: what of the offer was looked for. */
    | ('not_category' | 'not_brand' | 'not_advertiser' | 'not_domain');
  value: string;
  /** Whose rule it is; absent: of all placements. */
  placement?: string;
};

export type FindBlock = (offer: Offer) => Block | null;

/** The rules of a publisher, ready to be applied. */
export type Controls = {
  stored: StoredControls;
  /** The first rule that blocks an offer; found once for each. */
  blockOf: FindBlock;
  /** The first rule of a placement that blocks an offer there, by placement. */
  placements: ReadonlyMap<string, FindBlock>;
  separateCategories: boolean;
  /** Least expected revenue of an impression (millionths), by placement. */
  floors: ReadonlyMap<string, number>;
};

export type Publisher = {
  id: number;
  name: string;
  /** 16 hex digits; public, carries `ads/offers` only. */
  sdkId: string;
  unitEnabled: boolean;
  offersPerResponse: number;
  /** Share of users who get offers, 0 to 100. */
  deliveryPercentage: number;
  /** Answers every request as if in dev mode. */
  testMode: boolean;
  timeZone: string;
  /** Of fetches that ask for none, and of offers that do not say theirs. */
  language: Wanted;
  currencyName: string;
  currencyMultiplier: number;
  /** Currency of converted totals; null: none are shown. */
  reportingCurrency: string | null;
  /** Rates from the last days on; earlier ones are read by reports only. */
  exchangeRates: ExchangeRates;
  uspEnabled: boolean;
  walletEnabled: boolean;
  offerwallEnabled: boolean;
  ownEvents: readonly string[];
  privacyUrl: string | null;
  /** Plain text of the privacy page; empty: the default text. */
  privacyText: string;
  /** CSP host sources of pages that may frame the offerwall. */
  frameHosts: readonly string[];
  /** Normalised name of the placement of fetches that name none; null: they are refused. */
  defaultPlacement: string | null;
  /** Parts of user agents, in lower case, that are never taken for robots. */
  allowedUserAgents: readonly string[];
  /** Paid events that are posted back. */
  postbackEvents: readonly PostbackEvent[];
  /** Whether an endpoint receives postbacks. */
  hasPostbacks: boolean;
  /** Custom attributes that ranking does not learn from. */
  learningExcludedKeys: ReadonlySet<string>;
  /** Whether there may be attributes of its users. */
  keepsAttributes: boolean;
  /** Ids of its audiences, by key. */
  audiences: ReadonlyMap<string, number>;
  /** Its block rules; null: none. */
  controls: Controls | null;
  themes: ReadonlyMap<number, Theme>;
  themesByKey: ReadonlyMap<string, Theme>;
  defaultTheme: Theme | null;
  placements: ReadonlyMap<string, Placement>;
  index: OfferIndex;
  sequenceRules: readonly SequenceRule[];
  /** Those that are not over; null: none. */
  experiments: readonly Experiment[] | null;
};

/** A publisher's offers as the decision engine indexes them; here only `offers`, its source, is known. */
export type OfferIndex = { readonly offers: readonly Offer[] };

export type IndexSource = {
  publisher: Pick<Publisher, 'id' | 'timeZone' | 'language' | 'controls'>;
  /** Every offer provisioned to the publisher that is not removed. */
  offers: readonly Offer[];
  /** Time zone of a campaign's owner, for its total caps. */
  timeZoneOf: (publisherId: number) => string;
};

/** Builds the index of a publisher; the caller may do other work at each `yield`. */
export type BuildIndex = (source: IndexSource) => Generator<void, OfferIndex>;

export type ApiKey = {
  id: number;
  name: string;
  publisherId: number;
  permissions: ReadonlySet<Permission>;
  /** Calls per second; null: no limit. */
  rateLimitPerS: number | null;
  /** What its calls count against: its own limit, and those of the keys that made it. */
  limits: readonly KeyLimit[];
  /** Epoch milliseconds; null: never. */
  expiresAtMs: number | null;
  /** null: none but its permissions. */
  restrictions: KeyRestrictions | null;
};

export type CreativeType = 'icon_image' | 'offer_image' | 'hero_image';

export type Creative = {
  id: number;
  creativeType: CreativeType;
  isPrimary: boolean;
  /** File type, such as `png`. */
  type: string;
  /** Pixels. */
  width: number;
  height: number;
  /** null: served by this service. */
  url: string | null;
  /** BCP 47 tag of the readers it is for; null: all. */
  language: string | null;
  userId: number;
};

export type Payout = {
  kind: PayoutKind;
  /** Millionths of the currency per click, conversion or 1,000 impressions; `cps`: of a percent of the sale. */
  amountMicros: number;
  /** ISO 4217. */
  currency: string;
};

/** A publisher's permission to show a campaign, with overrides (null: as the campaign). */
export type Provision = {
  publisherId: number;
  active: boolean;
  payoutMicros: number | null;
  priority: number | null;
  frequencyCaps: readonly FrequencyCap[] | null;
  /** In addition to the campaign's; counted at this publisher alone. */
  totalCaps: readonly TotalCap[] | null;
};

export type Campaign = {
  id: number;
  publisherId: number;
  advertiserId: number;
  advertiserName: string;
  advertiserEvents: readonly string[];
  name: string;
  category: string;
  tags: readonly string[];
  /** Neither paused, stopped nor removed. */
  active: boolean;
  /** What of it the kill switch stops; null: nothing. */
  stopped: 'campaign' | 'advertiser' | null;
  /** Lower is shown first. */
  priority: number;
  /** Higher is shown first where no offer of the same priority pays; else expected revenue decides. */
  weight: number;
  /** `fixed`: by weight alone, before those whose expected revenue decides. */
  ranking: 'learned' | 'fixed';
  isProduct: boolean;
  isLoyalty: boolean;
  offerDescription: string;
  /** https destination; may hold macros such as `{click_id}`. */
  landingUrl: string;
  clickIdParam: string;
  /** How long a "no thanks" excludes the campaign for the user (days); null: without end. */
  optOutDays: number | null;
  /** How far what is booked may go beyond a budget (0 to 100). */
  overspendPercent: number;
  goal: Goal | null;
  /** When it was first active (epoch milliseconds); null: never, or unknown. */
  activatedAtMs: number | null;
  payout: Payout;
  rules: CampaignRules;
  /** By publisher, inactive ones included. The campaign is served to no other publisher. */
  provisions: ReadonlyMap<number, Provision>;
  /** Images of all its offers. */
  creatives: readonly Creative[];
};

export type Offer = {
  id: number;
  publisherId: number;
  campaign: Campaign;
  /** Neither paused, stopped nor removed. */
  active: boolean;
  /** What of it the kill switch stops, or `codes`: none is left; null: nothing. */
  stopped: 'offer' | 'codes' | Campaign['stopped'];
  weight: number;
  /** BCP 47 tag of its texts; null: the publisher's. */
  language: string | null;
  translations: Translations<Offer> | null;
  copy: OfferCopy;
  /** Sanitised HTML. */
  termsAndConditions: string;
  loyaltyRequirements: string;
  useractionCta: string | null;
  useractionUrl: string | null;
  advPixelUrl: string;
  walletEnabled: boolean;
  offerwallEnabled: boolean;
  creatives: readonly Creative[];
  coupon: CouponPool | null;
};

export type Snapshot = {
  version: number;
  publishers: ReadonlyMap<number, Publisher>;
  publishersBySdkId: ReadonlyMap<string, Publisher>;
  /** By hex sha256 of the key. */
  keys: ReadonlyMap<string, ApiKey>;
  /** Every offer that tokens may refer to, paused and recently removed ones included. */
  offers: ReadonlyMap<number, Offer>;
};
