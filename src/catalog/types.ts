import type { Transaction } from '../platform/db/pool.ts';
import type { ExchangeRates } from '../platform/exchange-rates.ts';
import type { KeyLimit, Permission } from '../platform/http/auth.ts';
import type { KeyRestrictions } from '../platform/http/key-restrictions.ts';
import type { Wanted } from '../platform/i18n/reader.ts';
import type { TokenClaims } from '../platform/security/tracking-token.ts';
import type { EventKind, TrackedKind } from './event-kinds.ts';
import type { CampaignRules, FrequencyCap, Goal, PayoutKind, SequenceMatch, TotalCap } from './rules.ts';

export type Unit = 'sou' | 'mou';

export type Theme = {
  id: number;
  /** Normalised key; requests and pages name the theme by it. */
  key: string;
  name: string;
  unit: Unit;
  uspEnabled: boolean;
  uspCheckAll: boolean;
  /** Null, here and below, uses the publisher's value. */
  offersPerResponse: number | null;
  deliveryPercentage: number | null;
  unitEnabled: boolean | null;
  /** Stored overrides of the defaults. */
  settings: Readonly<Record<string, unknown>>;
  styles: Readonly<Record<string, unknown>>;
  appearance: Readonly<Record<string, unknown>>;
};

/** A placement; null uses the theme's value, else the publisher's. */
export type Placement = {
  name: string;
  themeId: number | null;
  offersPerResponse: number | null;
  deliveryPercentage: number | null;
  unitEnabled: boolean | null;
};

/** Rule about which offers may be shown at positions of a placement. */
export type SequenceRule = {
  id: number;
  /** Placement of the rule; null for all placements. */
  placement: string | null;
  /** Positions from 1 to 10; null for all positions. */
  positions: readonly number[] | null;
  effect: 'allow' | 'deny';
  match: SequenceMatch;
  weight: number;
};

/** Block lists and allow lists. An offer must match an entry of each allow list that has entries. */
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

/** Block rules of a publisher as stored (docs/reference/management.md#block-rules). */
export type StoredControls = OfferLists & {
  /** Additional rules by normalised name of the placement. */
  placements: Record<string, OfferLists>;
  separate: { categories: boolean; competitors: (string | number)[] };
  /** Minimum revenue for 1,000 impressions, by placement. */
  floors: Record<string, number>;
};

/** Rule of a publisher that blocks an offer, with the value that matched. */
export type Block = {
  by:
    | ('category' | 'brand' | 'advertiser' | 'domain' | 'offer' | 'word' | 'competitor')
    /** The offer matches no entry of a list; `value` is the offer's value. */
    | ('not_category' | 'not_brand' | 'not_advertiser' | 'not_domain');
  value: string;
  /** Placement of the rule; absent for a rule for all placements. */
  placement?: string;
};

export type FindBlock = (offer: Offer) => Block | null;

/** Compiled block rules of a publisher. */
export type Controls = {
  stored: StoredControls;
  /** First rule that blocks an offer, cached for each offer. */
  blockOf: FindBlock;
  /** First rule of a placement that blocks an offer there, by placement. */
  placements: ReadonlyMap<string, FindBlock>;
  separateCategories: boolean;
  /** Minimum expected revenue of an impression (millionths), by placement. */
  floors: ReadonlyMap<string, number>;
};

export type Publisher = {
  id: number;
  name: string;
  /** Public id of 16 hex digits. As a key it has only the permission `ads/offers`. */
  sdkId: string;
  unitEnabled: boolean;
  offersPerResponse: number;
  /** Share of users who get offers, 0 to 100. */
  deliveryPercentage: number;
  /** Treats every request as if in dev mode. */
  testMode: boolean;
  timeZone: string;
  /** Language of fetches that do not request one, and of offers without a language. */
  language: Wanted;
  currencyName: string;
  currencyMultiplier: number;
  /** Currency of converted totals; null shows no totals. */
  reportingCurrency: string | null;
  /** Exchange rates of the last days. Only reports read earlier ones. */
  exchangeRates: ExchangeRates;
  uspEnabled: boolean;
  walletEnabled: boolean;
  offerwallEnabled: boolean;
  ownEvents: readonly string[];
  privacyUrl: string | null;
  /** Plain text of the privacy page; empty for the default text. */
  privacyText: string;
  /** CSP host sources of pages that may embed the offerwall in a frame. */
  frameHosts: readonly string[];
  /** Normalised name of the placement for fetches that do not name one; null rejects such fetches. */
  defaultPlacement: string | null;
  /** Parts of user agents, in lower case, that are never treated as robots. */
  allowedUserAgents: readonly string[];
  /** Paid events that are sent as postbacks. */
  postbackEvents: readonly PostbackEvent[];
  /** Whether an endpoint receives postbacks. */
  hasPostbacks: boolean;
  /** Custom attributes that ranking does not learn from. */
  learningExcludedKeys: ReadonlySet<string>;
  /** Whether its users may have stored attributes. */
  keepsAttributes: boolean;
  /** Ids of its audiences by key. */
  audiences: ReadonlyMap<string, number>;
  /** Block rules; null if there are none. */
  controls: Controls | null;
  themes: ReadonlyMap<number, Theme>;
  themesByKey: ReadonlyMap<string, Theme>;
  defaultTheme: Theme | null;
  placements: ReadonlyMap<string, Placement>;
  index: OfferIndex;
  sequenceRules: readonly SequenceRule[];
  /** Experiments that are not over; null if there are none. */
  experiments: readonly Experiment[] | null;
};

/** Index of a publisher's offers, built by the decision engine. This module knows only `offers`. */
export type OfferIndex = { readonly offers: readonly Offer[] };

export type IndexSource = {
  publisher: Pick<Publisher, 'id' | 'timeZone' | 'language' | 'controls'>;
  /** Offers that are provisioned to the publisher and not removed. */
  offers: readonly Offer[];
  /** Time zone of a campaign's owner, for its total caps. */
  timeZoneOf: (publisherId: number) => string;
};

/** Builds the index of a publisher. The caller may do other work at each `yield`. */
export type BuildIndex = (source: IndexSource) => Generator<void, OfferIndex>;

export type ApiKey = {
  id: number;
  name: string;
  publisherId: number;
  permissions: ReadonlySet<Permission>;
  /** Maximum calls per second; null for no limit. */
  rateLimitPerS: number | null;
  /** Limits that its calls count against: its own, and those of the keys that created it. */
  limits: readonly KeyLimit[];
  /** Expiry (epoch milliseconds); null for no expiry. */
  expiresAtMs: number | null;
  /** Restrictions beyond its permissions; null for none. */
  restrictions: KeyRestrictions | null;
};

export type CreativeType = 'icon_image' | 'offer_image' | 'hero_image';

export type Creative = {
  id: number;
  creativeType: CreativeType;
  isPrimary: boolean;
  /** File type, such as `png`. */
  type: string;
  /** Width and height (pixels). */
  width: number;
  height: number;
  /** External URL; null if this service serves the picture. */
  url: string | null;
  /** BCP 47 tag of the readers it is for; null for all readers. */
  language: string | null;
  userId: number;
};

export type Payout = {
  kind: PayoutKind;
  /**
   * Millionths of the currency per click, conversion or 1,000 impressions; for `cps`, millionths of a percent of the
   * sale.
   */
  amountMicros: number;
  /** ISO 4217 code. */
  currency: string;
};

/** A publisher's permission to show a campaign, with overrides (null uses the campaign's value). */
export type Provision = {
  publisherId: number;
  active: boolean;
  payoutMicros: number | null;
  priority: number | null;
  frequencyCaps: readonly FrequencyCap[] | null;
  /** Caps in addition to the campaign's, counted at this publisher only. */
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
  /** Whether it is neither paused, stopped nor removed. */
  active: boolean;
  /** Level at which the kill switch stops it; null if it is not stopped. */
  stopped: 'campaign' | 'advertiser' | null;
  /** Priority; lower numbers are shown first. */
  priority: number;
  /** Weight; higher weights come first if no offer of the same priority pays. Otherwise expected revenue decides. */
  weight: number;
  /** `fixed` ranks by weight only, before the campaigns that are ranked by expected revenue. */
  ranking: 'learned' | 'fixed';
  isProduct: boolean;
  isLoyalty: boolean;
  offerDescription: string;
  /** Destination (https); may contain macros such as `{click_id}`. */
  landingUrl: string;
  clickIdParam: string;
  /** How long a "no thanks" excludes the campaign for the user (days); null for no end. */
  optOutDays: number | null;
  /** How far bookings may exceed a budget (0 to 100 percent). */
  overspendPercent: number;
  goal: Goal | null;
  /** First activation (epoch milliseconds); null if never, or unknown. */
  activatedAtMs: number | null;
  payout: Payout;
  rules: CampaignRules;
  /** Provisions by publisher, including inactive ones. The campaign is served to no other publisher. */
  provisions: ReadonlyMap<number, Provision>;
  /** Creatives of all its offers. */
  creatives: readonly Creative[];
};

export type Offer = {
  id: number;
  publisherId: number;
  campaign: Campaign;
  /** Whether it is neither paused, stopped nor removed. */
  active: boolean;
  /** Level at which the kill switch stops it, or `codes` if no code is left; null if it is not stopped. */
  stopped: 'offer' | 'codes' | Campaign['stopped'];
  weight: number;
  /** BCP 47 tag of its texts; null for the publisher's language. */
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
  /** Keys by their SHA-256 (hex). */
  keys: ReadonlyMap<string, ApiKey>;
  /** Every offer that tokens may refer to, including paused and recently removed ones. */
  offers: ReadonlyMap<number, Offer>;
};

/** Texts of an offer. Limits: docs/reference/themes-and-rendering.md#text-limits. */
export type OfferCopy = {
  title: string;
  description: string;
  miniText: string;
  shortHeadline: string;
  shortDescription: string;
  ctaYes: string;
  ctaNo: string;
};

/** Texts of an offer that can be translated, by column; `offer_description` belongs to its campaign. */
export const translatedTexts = [
  ...(['title', 'description', 'short_headline', 'short_description', 'cta_yes', 'cta_no', 'mini_text'] as const),
  ...(['terms_and_conditions', 'loyalty_requirements', 'useraction_cta', 'offer_description'] as const),
] as const;

export type TranslatedText = (typeof translatedTexts)[number];

/** Texts of an offer in one language. Absent and empty texts fall back to the next language. */
export type Translation = Partial<Record<TranslatedText, string>>;

/** Translations of an offer. */
export type Translations<LocalizedOffer> = {
  /** Texts by lower-case language tag, with the tag as written. */
  texts: ReadonlyMap<string, { tag: string; texts: Translation }>;
  /** Languages of its pictures, in lower case. */
  pictures: ReadonlySet<string>;
  /**
   * Cache of the offer in other languages, filled on first use: by language of the texts, then by language of the
   * pictures.
   */
  localised: Map<string, Map<string, LocalizedOffer>>;
};

/** Settings of the coupon codes of an offer (docs/reference/perks-and-wallet.md#coupons). */
export type CouponPool = {
  /** Event at which a user gets a code. */
  giveAt: 'wrap' | 'save' | 'click';
  /** Code that all users share; null if each user gets a unique code. */
  sharedCode: string | null;
  terms: string;
  /**
   * End of validity (ISO 8601), and validity in days after the code was given. The earlier one applies; null for no
   * end.
   */
  expiresAt: string | null;
  validDays: number | null;
  /** How long a selected offer holds a code before the wrap (minutes); null if it does not hold one. */
  holdMinutes: number | null;
};

/** Paid events that can be sent to publishers as postbacks. */
export const postbackEvents = ['impression', 'click', 'conversion'] as const;

export type PostbackEvent = (typeof postbackEvents)[number];

export const isPostbackEvent = (kind: string): kind is PostbackEvent =>
  (postbackEvents as readonly string[]).includes(kind);

/** Changes of the unit in an arm (docs/reference/experiments-and-outcomes.md). */
export type ArmChanges = {
  offers_per_response?: number;
  theme_id?: number;
  settings?: Readonly<Record<string, unknown>>;
  labels?: Readonly<Record<string, string>>;
  ranking?: 'learned' | 'fixed';
  /** Minimum revenue for 1,000 impressions. */
  floor?: number;
};

export type Arm = { key: string; isHoldout: boolean; changes: ArmChanges };

export type Experiment = {
  id: number;
  key: string;
  /** Grows with each change of the allocation of users and of the arms' changes. */
  version: number;
  salt: string;
  /** Normalised names of placements; null for all placements. */
  placements: ReadonlySet<string> | null;
  /** Campaign that is hidden from the hold-out; null hides all offers from it. */
  campaignId: number | null;
  /** Period in which the experiment runs (epoch milliseconds, end exclusive). Drafts never run. */
  startMs: number;
  endMs: number;
  arms: ReadonlyMap<string, Arm>;
  /** Ranges of slots and their arms. Users in other slots are not in the experiment. */
  allocation: readonly Slots[];
  /** Arm that changes nothing; null if users outside the experiment are the control. */
  control: string | null;
  /** Share of its users who take part, from each moment on; null for all users. */
  ramp: readonly { fromMs: number; share: number }[] | null;
};

/** Slots of an arm, from `from` (inclusive) to `to` (exclusive). */
export type Slots = { from: number; to: number; arm: string };

/** Number of slots that users are spread over. */
export const experimentSlots = 10_000;

/** Name of the hold-out arm. */
export const holdoutArm = 'holdout';

/** Returns the control: the arm named `control`, else the first arm without changes, or null. */
export function controlOf(arms: readonly { key: string; changes: object }[]): string | null {
  const plain = arms.filter(({ changes }) => Object.keys(changes).length === 0);
  return (plain.find(({ key }) => key === 'control') ?? plain[0])?.key ?? null;
}

/** Share of an experiment's users who take part at a moment. `ramp` null means all. */
export const admittedShare = (ramp: Experiment['ramp'], nowMs: number): number =>
  ramp === null ? 1 : (ramp.findLast(({ fromMs }) => nowMs >= fromMs)?.share ?? 0);

/**
 * Builds the creative object of docs/reference/fetch-offers.md#creative-object, with the fields that the webhook adds.
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

/** Reasons for an invalid click or another suspicious event, excluded from counts, caps and revenue. */
export const suspicions = ['bot', 'qr', 'no_impression', 'too_fast'] as const;

/** An event to store. */
export type StoredEvent<Kind extends EventKind> = {
  kind: Kind;
  claims: TokenClaims;
  /** Session of the token. A scanned QR code has no session and gets one of its own. */
  sessionId: string;
  /** Time of the event (epoch milliseconds). */
  atMs: number;
  /** Suspicion known before storing. The database detects `no_impression` and `too_fast`. */
  suspicious: Extract<(typeof suspicions)[number], 'bot' | 'qr'> | null;
  /** Revenue unless the event is suspicious, in millionths of the campaign's currency. */
  revenueMicros: number;
  /**
   * Currency of the campaign at the time of the event. Absent in messages of earlier releases, which had a single
   * currency.
   */
  currency?: string;
  /** Name of an own event. */
  name?: string;
};

/** An event recorded by a tracking token. */
export type TrackedEvent = StoredEvent<TrackedKind>;

/** An event of a perk: an offer was saved to the wallet, or selected in a wrapped session. */
export type PerkEvent = StoredEvent<'save' | 'selection'>;

/** Tracked event as the event log stores it. */
export type LoggedEvent = TrackedEvent & {
  /** Length of the opt-out of a "no thanks" (days), or null for no end. */
  optOutDays?: number | null;
};

/** Stores logged events in a transaction, with the same counts and checks as events without a log. */
export type StoreEvents = (executor: Transaction, snapshot: Snapshot, events: readonly LoggedEvent[]) => Promise<void>;

/** A log that takes events before PostgreSQL stores them. */
export type EventLog = {
  partitions: number;
  /** Partition for the events of a session. */
  partitionOf: (sessionId: string) => number;
  /** Whether the log accepts events. */
  isUp: () => boolean;
  /** Appends events to one partition. Rejects on timeout; the log may or may not have the events. */
  append: (partition: number, events: readonly LoggedEvent[], limitMs: number) => Promise<void>;
};
