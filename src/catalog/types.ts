import type { Transaction } from '../platform/db/pool.ts';
import type { ExchangeRates } from '../platform/exchange-rates.ts';
import type { KeyLimit, Permission } from '../platform/http/auth.ts';
import type { KeyRestrictions } from '../platform/http/key-restrictions.ts';
import type { Wanted } from '../platform/i18n/reader.ts';
import type { TokenClaims } from '../platform/security/tracking-token.ts';
import type { EventKind, TrackedKind } from './event-kinds.ts';
import type { CampaignRules, FrequencyCap, Goal, PayoutKind, RuleDetail, SequenceMatch, TotalCap } from './rules.ts';

export type Unit = 'sou' | 'mou';

export type Theme = {
  id: number;
  /** Normalised key by which requests and pages identify the theme. */
  key: string;
  name: string;
  unit: Unit;
  uspEnabled: boolean;
  uspCheckAll: boolean;
  /**
   * Maximum number of offers per response. If null, the publisher's value is used; the same applies to the other
   * nullable fields below.
   */
  offersPerResponse: number | null;
  deliveryPercentage: number | null;
  unitEnabled: boolean | null;
  /** Overrides of the default settings, styles and appearance, as stored. */
  settings: Readonly<Record<string, unknown>>;
  styles: Readonly<Record<string, unknown>>;
  appearance: Readonly<Record<string, unknown>>;
};

/** Placement. Where a value is null, the theme's value is used, or else the publisher's. */
export type Placement = {
  name: string;
  themeId: number | null;
  offersPerResponse: number | null;
  deliveryPercentage: number | null;
  unitEnabled: boolean | null;
};

/** Rule that determines which offers may be shown at positions of a placement. */
export type SequenceRule = {
  id: number;
  /** Placement that the rule applies to, or null for all placements. */
  placement: string | null;
  /** Positions that the rule applies to (1 to 10), or null for all positions. */
  positions: readonly number[] | null;
  effect: 'allow' | 'deny';
  match: SequenceMatch;
  weight: number;
};

/** Block lists and allow lists. An offer must match at least one entry in each allow list that is not empty. */
export type OfferLists = {
  blocked: Record<'categories' | 'brands' | 'domains' | 'words', string[]> & Record<'advertisers' | 'offers', number[]>;
  allowed: { categories: string[]; brands: string[]; advertisers: number[]; domains: string[] };
};

/** Block rules of a publisher as stored (docs/reference/management.md#block-rules). */
export type StoredControls = OfferLists & {
  /** Additional block rules, by normalised placement name. */
  placements: Record<string, OfferLists>;
  separate: { categories: boolean; competitors: (string | number)[] };
  /** Minimum revenue per 1,000 impressions, by placement. */
  floors: Record<string, number>;
  /** Notes and end times of rules that have them. */
  rule_details: RuleDetail[];
};

/** Block rule that excludes an offer, with the value that matched. */
export type Block = {
  by:
    | ('category' | 'brand' | 'advertiser' | 'domain' | 'offer' | 'word' | 'competitor')
    /** Allow list that the offer does not match. In this case, `value` is the offer's own value. */
    | ('not_category' | 'not_brand' | 'not_advertiser' | 'not_domain');
  value: string;
  /** Placement to which the rule applies. Absent if the rule applies to all placements. */
  placement?: string;
};

export type FindBlock = (offer: Offer) => Block | null;

/** Compiled block rules of a publisher. */
export type Controls = {
  stored: StoredControls;
  /** Returns the first rule that blocks an offer. Results are cached per offer. */
  blockOf: FindBlock;
  /** Functions by placement, each of which returns the first rule that blocks an offer there. */
  placements: ReadonlyMap<string, FindBlock>;
  separateCategories: boolean;
  /** Minimum expected revenue per impression, in millionths, by placement. */
  floors: ReadonlyMap<string, number>;
};

export type Publisher = {
  id: number;
  name: string;
  /** Public ID of the publisher, 16 hex digits. When used as a key, it has only the permission `ads/offers`. */
  sdkId: string;
  unitEnabled: boolean;
  offersPerResponse: number;
  /** Percentage of users who get offers, 0 to 100. */
  deliveryPercentage: number;
  /** Whether all requests are treated as dev requests. */
  testMode: boolean;
  timeZone: string;
  /** Default language for fetches that do not request one, and for offers that have none. */
  language: Wanted;
  currencyName: string;
  currencyMultiplier: number;
  /** Currency into which report totals are converted, or null to show no converted totals. */
  reportingCurrency: string | null;
  /** Exchange rates of the last few days. Reports load earlier rates themselves. */
  exchangeRates: ExchangeRates;
  uspEnabled: boolean;
  walletEnabled: boolean;
  offerwallEnabled: boolean;
  ownEvents: readonly string[];
  privacyUrl: string | null;
  /** Plain text of the privacy page. If empty, the default text is used. */
  privacyText: string;
  /** CSP host sources of pages that may embed the offerwall in a frame. */
  frameHosts: readonly string[];
  /** Normalised placement for fetches that specify none. If null, such fetches are rejected. */
  defaultPlacement: string | null;
  /** Lower-case substrings of user agents that are never treated as bots. */
  allowedUserAgents: readonly string[];
  /** Paid events for which the publisher receives postbacks. */
  postbackEvents: readonly PostbackEvent[];
  /** Whether at least one endpoint receives postbacks. */
  hasPostbacks: boolean;
  /** Keys of custom attributes that ranking must not learn from. */
  learningExcludedKeys: ReadonlySet<string>;
  /** Whether attributes may be stored for the publisher's users. */
  keepsAttributes: boolean;
  /** Audience IDs, by key. */
  audiences: ReadonlyMap<string, number>;
  /** Compiled block rules, or null if none exists. */
  controls: Controls | null;
  themes: ReadonlyMap<number, Theme>;
  themesByKey: ReadonlyMap<string, Theme>;
  defaultTheme: Theme | null;
  placements: ReadonlyMap<string, Placement>;
  index: OfferIndex;
  sequenceRules: readonly SequenceRule[];
  /** Experiments that have not ended, or null if none exists. */
  experiments: readonly Experiment[] | null;
};

/** Index of a publisher's offers, built by the decision engine. The catalog module uses only its `offers`. */
export type OfferIndex = {
  readonly offers: readonly Offer[];
  /** Whether the publisher has been used recently. Set only if publishers are loaded on first use. */
  isUsed?: boolean;
};

export type IndexSource = {
  publisher: Pick<Publisher, 'id' | 'timeZone' | 'language' | 'controls'>;
  /** Offers that are provisioned to the publisher and not removed. */
  offers: readonly Offer[];
  /** Returns the time zone of a publisher. Total caps use the time zone of the campaign's owner. */
  timeZoneOf: (publisherId: number) => string;
};

/** Builds a publisher's index. At each `yield`, the caller can do other work. */
export type BuildIndex = (source: IndexSource) => Generator<void, OfferIndex>;

export type ApiKey = {
  id: number;
  name: string;
  publisherId: number;
  permissions: ReadonlySet<Permission>;
  /** Maximum calls per second, or null for no limit. */
  rateLimitPerS: number | null;
  /** All rate limits that apply to calls with this key: its own, and those of the keys that created it. */
  limits: readonly KeyLimit[];
  /** Expiry in epoch milliseconds, or null if the key does not expire. */
  expiresAtMs: number | null;
  /** Restrictions on the key in addition to its permissions, or null if none exists. */
  restrictions: KeyRestrictions | null;
};

export type CreativeType = 'icon_image' | 'offer_image' | 'hero_image';

export type Creative = {
  id: number;
  creativeType: CreativeType;
  isPrimary: boolean;
  /** Image type, such as `png`. */
  type: string;
  /** Image width, in pixels. */
  width: number;
  height: number;
  /** External image URL, or null if this service serves the image. */
  url: string | null;
  /** BCP 47 tag of the language for which the creative is intended, or null for all languages. */
  language: string | null;
  userId: number;
};

export type Payout = {
  kind: PayoutKind;
  /**
   * Payout in millionths of the currency: per click, per conversion or per 1,000 impressions. For `cps`, the share of
   * the sale in millionths of a percent.
   */
  amountMicros: number;
  /** Payout currency (ISO 4217). */
  currency: string;
};

/** Permission for a publisher to show a campaign. Overrides that are null use the campaign's value. */
export type Provision = {
  publisherId: number;
  active: boolean;
  payoutMicros: number | null;
  priority: number | null;
  frequencyCaps: readonly FrequencyCap[] | null;
  /** Caps that apply in addition to the campaign's caps. They count only events at this publisher. */
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
  /** Whether the campaign is active: not paused, stopped or removed. */
  active: boolean;
  /** Level at which the kill switch stops the campaign, or null if it is not stopped. */
  stopped: 'campaign' | 'advertiser' | null;
  /** Priority. Campaigns with lower numbers are shown first. */
  priority: number;
  /**
   * Weight. If no offer of the same priority pays, offers with higher weights come first. Otherwise, offers are ranked
   * by expected revenue.
   */
  weight: number;
  /** Ranking method. `fixed` campaigns are ranked by weight, before those ranked by expected revenue. */
  ranking: 'learned' | 'fixed';
  isProduct: boolean;
  isLoyalty: boolean;
  offerDescription: string;
  /** Landing URL (https). It may contain macros such as `{click_id}`. */
  landingUrl: string;
  clickIdParam: string;
  /** Duration of the opt-out after a user's "no thanks", in days, or null if the opt-out never ends. */
  optOutDays: number | null;
  /** Maximum percentage by which bookings may exceed a budget (0 to 100). */
  overspendPercent: number;
  goal: Goal | null;
  /** Time of the first activation, in epoch milliseconds, or null if none exists or it is unknown. */
  activatedAtMs: number | null;
  payout: Payout;
  rules: CampaignRules;
  /** Provisions by publisher, including inactive ones. Other publishers do not get the campaign. */
  provisions: ReadonlyMap<number, Provision>;
  /** Creatives of all offers of the campaign. */
  creatives: readonly Creative[];
};

export type Offer = {
  id: number;
  publisherId: number;
  campaign: Campaign;
  /** Whether the offer is active: not paused, stopped or removed. */
  active: boolean;
  /**
   * Level at which the kill switch stops the offer, `codes` if the offer has run out of coupon codes, or null if it is
   * not stopped.
   */
  stopped: 'offer' | 'codes' | Campaign['stopped'];
  weight: number;
  /** BCP 47 tag of the language of the offer's copy, or null for the publisher's language. */
  language: string | null;
  translations: Translations<Offer> | null;
  copy: OfferCopy;
  /** Terms and conditions, as sanitised HTML. */
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

/** Configuration at one version. Loading a publisher on first use sets the publisher's index and adds its offers. */
export type Snapshot = {
  version: number;
  publishers: ReadonlyMap<number, Publisher>;
  publishersBySdkId: ReadonlyMap<string, Publisher>;
  /** API keys, by SHA-256 of the key (hex). */
  keys: ReadonlyMap<string, ApiKey>;
  /** All offers that tokens may refer to, including paused and recently removed offers. */
  offers: ReadonlyMap<number, Offer>;
  /** The same offers by campaign ID. */
  offersByCampaign: ReadonlyMap<number, readonly Offer[]>;
};

/** Copy of an offer. For length limits, see docs/reference/themes-and-rendering.md#text-limits. */
export type OfferCopy = {
  title: string;
  description: string;
  miniText: string;
  shortHeadline: string;
  shortDescription: string;
  ctaYes: string;
  ctaNo: string;
};

/** Columns with offer copy that can be translated. `offer_description` belongs to the campaign. */
export const translatedTexts = [
  ...(['title', 'description', 'short_headline', 'short_description', 'cta_yes', 'cta_no', 'mini_text'] as const),
  ...(['terms_and_conditions', 'loyalty_requirements', 'useraction_cta', 'offer_description'] as const),
] as const;

export type TranslatedText = (typeof translatedTexts)[number];

/** Translation of an offer's copy into one language. If a part is absent or empty, the next language is used. */
export type Translation = Partial<Record<TranslatedText, string>>;

/** Translated copy and images of an offer. */
export type Translations<LocalizedOffer> = {
  /** Translations by lower-case language tag, with the tag in its original case. */
  texts: ReadonlyMap<string, { tag: string; texts: Translation }>;
  /** Lower-case language tags of the offer's images. */
  imageLanguages: ReadonlySet<string>;
  /** Cache of localised offers, filled on first use, by text language and then by image language. */
  localised: Map<string, Map<string, LocalizedOffer>>;
};

/** Coupon settings of an offer (docs/reference/perks-and-wallet.md#coupons). */
export type CouponPool = {
  /** Event on which a user is assigned a code. */
  giveAt: 'wrap' | 'save' | 'click';
  /** Code shared by all users, or null if each user gets a unique code. */
  sharedCode: string | null;
  terms: string;
  /**
   * Expiry date of the codes (ISO 8601), or null if none exists. Codes may also expire a number of days after they are
   * assigned; the earlier date applies.
   */
  expiresAt: string | null;
  validDays: number | null;
  /** Time for which a code is held for a selected offer until the wrap, in minutes. If null, no code is held. */
  holdMinutes: number | null;
};

/** Paid events for which postbacks can be sent. */
export const postbackEvents = ['impression', 'click', 'conversion'] as const;

export type PostbackEvent = (typeof postbackEvents)[number];

export const isPostbackEvent = (kind: string): kind is PostbackEvent =>
  (postbackEvents as readonly string[]).includes(kind);

/** Changes that an arm makes to the offer unit (docs/reference/experiments-and-outcomes.md). */
export type ArmChanges = {
  offers_per_response?: number;
  theme_id?: number;
  settings?: Readonly<Record<string, unknown>>;
  labels?: Readonly<Record<string, string>>;
  ranking?: 'learned' | 'fixed';
  /** Minimum revenue per 1,000 impressions. */
  floor?: number;
};

export type Arm = { key: string; isHoldout: boolean; changes: ArmChanges };

export type Experiment = {
  id: number;
  key: string;
  /** Experiment version, incremented whenever the allocation of users or the changes of the arms are modified. */
  version: number;
  salt: string;
  /** Normalised placement names, or null for all placements. */
  placements: ReadonlySet<string> | null;
  /** Campaign that is hidden from users in the hold-out arm. If null, all offers are hidden. */
  campaignId: number | null;
  /** Start of the experiment, in epoch milliseconds. The end is exclusive. Drafts never run. */
  startMs: number;
  endMs: number;
  arms: ReadonlyMap<string, Arm>;
  /** Slot ranges, each with its arm. Users in other slots do not take part in the experiment. */
  allocation: readonly Slots[];
  /** Key of the arm without changes. If null, users outside the experiment serve as the control group. */
  control: string | null;
  /** Shares of users who take part, with the time from which each applies. Null means all users. */
  ramp: readonly { fromMs: number; share: number }[] | null;
};

/** Range of user slots assigned to an arm, from `from` (inclusive) to `to` (exclusive). */
export type Slots = { from: number; to: number; arm: string };

/** Number of slots over which users are distributed. */
export const experimentSlots = 10_000;

/** Key of the hold-out arm. */
export const holdoutArm = 'holdout';

/**
 * Returns the key of the control arm: the arm named `control`, or else the first arm without changes. Null if there is
 * neither.
 */
export function controlOf(arms: readonly { key: string; changes: object }[]): string | null {
  const plain = arms.filter(({ changes }) => Object.keys(changes).length === 0);
  return (plain.find(({ key }) => key === 'control') ?? plain[0])?.key ?? null;
}

/** Returns the share of an experiment's users who take part at a given time. A null `ramp` means all users. */
export const admittedShare = (ramp: Experiment['ramp'], nowMs: number): number =>
  ramp === null ? 1 : (ramp.findLast(({ fromMs }) => nowMs >= fromMs)?.share ?? 0);

/**
 * Builds the creative object for responses (docs/reference/fetch-offers.md#creative-object), including the additional
 * fields of webhooks.
 */
export function buildCreativeView(creative: Creative, publicUrl: string) {
  return {
    id: creative.id,
    url: creative.url ?? `${publicUrl}/images/${creative.id}.${creative.type}`,
    height: creative.height,
    width: creative.width,
    type: creative.type,
    is_primary: creative.isPrimary,
    aspect_ratio: Math.round((creative.width / creative.height) * 10_000) / 10_000,
    creative_type: creative.creativeType,
    user_id: creative.userId,
  };
}

/** Reasons why a click or other event is suspicious. Suspicious events are excluded from counts, caps and revenue. */
export const suspicions = ['bot', 'qr', 'no_impression', 'too_fast'] as const;

/** Event to be stored. */
export type StoredEvent<Kind extends EventKind> = {
  kind: Kind;
  claims: TokenClaims;
  /** Session ID from the token. A scanned QR code has no session, so a new ID is used. */
  sessionId: string;
  /** Event time, in epoch milliseconds. */
  atMs: number;
  /**
   * Reason why the event is suspicious, if detected before it is stored, or null. The database detects `no_impression`
   * and `too_fast`.
   */
  suspicious: Extract<(typeof suspicions)[number], 'bot' | 'qr'> | null;
  /** Revenue in millionths of the campaign's currency. It is booked only if the event is not suspicious. */
  revenueMicros: number;
  /**
   * Currency of the campaign at the time of the event. Absent in messages from earlier releases, which supported only
   * one currency.
   */
  currency?: string;
  /** Name of the own event. Absent for other kinds. */
  name?: string;
};

/** Event recorded with a tracking token. */
export type TrackedEvent = StoredEvent<TrackedKind>;

/** Perk event: an offer was saved to the wallet, or selected in a session that was then wrapped. */
export type PerkEvent = StoredEvent<'save' | 'selection'>;

/** Tracked event in the format of the event log. */
export type LoggedEvent = TrackedEvent & {
  /** Duration of the opt-out after a user's "no thanks", in days, or null if the opt-out never ends. */
  optOutDays?: number | null;
};

/** Stores logged events in a transaction, with the same counting and checks as events without an event log. */
export type StoreEvents = (executor: Transaction, snapshot: Snapshot, events: readonly LoggedEvent[]) => Promise<void>;

/** Event log, which accepts events before they are stored in PostgreSQL. */
export type EventLog = {
  partitions: number;
  /** Returns the partition to which a session's events belong. */
  partitionOf: (sessionId: string) => number;
  /** Whether the log currently accepts events. */
  isUp: () => boolean;
  /**
   * Appends events to a partition. Rejects after `limitMs` milliseconds, but the events may have been appended
   * nevertheless.
   */
  append: (partition: number, events: readonly LoggedEvent[], limitMs: number) => Promise<void>;
};
