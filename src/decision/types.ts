import type { CapEvent, CapMetric, CapPeriod } from '../catalog/rules/rules.ts';
import type { Offer, Payout, Publisher, Theme } from '../catalog/snapshot/types.ts';

/**
 * What a decision is made of. Everything it depends on is in here: the same input gives the same decision, bit for bit.
 *
 * survivor  an offer the index lets through; residual rule: one that is looked at only when a survivor is about to be
 * shown
 * class     survivors of equal force and priority, which compete by expected revenue
 * score     expected revenue of one impression, in millionths of the payout's currency
 */
export type DecisionInput = {
  publisher: Publisher;
  theme: Theme | null;
  context: DecisionContext;
  history: UserHistory;
  totals: Totals;
  posteriors: Posteriors;
  /** 32 bits, unsigned; the only source of chance. */
  seed: number;
};

/** The request. Names of platform, device, os and browser are lower case; null: not known. */
export type DecisionContext = {
  surface: 'unit' | 'offerwall';
  /** Normalised name. */
  placement: string;
  /** `web`, `ios`, `android`. */
  platform: string | null;
  /** `desktop`, `mobile`, `tablet`, `tv`. */
  device: string | null;
  os: string | null;
  browser: string | null;
  geo: Geo;
  custom: ReadonlyMap<string, string>;
  nowMs: number;
  /** Who the user is, by a keyed hash; null: not known, or not to be known. */
  userKey: string | null;
  loyalty: 'none' | 'also' | 'only';
  onlyWithCreative: boolean;
  campaignId: number | null;
  /** How many offers at most; null: as placement, theme or publisher say. */
  count: number | null;
  dev: boolean;
};

export type Geo = {
  /** ISO 3166-1 alpha-2, upper case. */
  country: string | null;
  /** ISO 3166-2, such as `US-CA`. */
  region: string | null;
  /** English name. */
  city: string | null;
  postalCode: string | null;
  /** IANA zone of the visitor. */
  timeZone: string | null;
};

export const nowhere: Geo = { country: null, region: null, city: null, postalCode: null, timeZone: null };

/** Something the user saw or did, or an impression that is reserved for another answer under way. */
export type Exposure = {
  event: CapEvent;
  offerId: number;
  campaignId: number;
  advertiserId: number;
  /** Epoch milliseconds. */
  atMs: number;
  /** How many of them, where old ones are kept together; absent: 1. */
  count?: number;
};

export type UserHistory = {
  /** Campaign id → end of the opt-out in epoch seconds, or null for good. */
  optOuts: OptOuts;
  /** In any order. */
  exposures: readonly Exposure[];
};

export type OptOuts = Readonly<Record<string, number | null>>;

export const noHistory: UserHistory = { optOuts: {}, exposures: [] };

/** How much of a metric is used up in the current hour, day, month and in all (time zone of the campaign's owner). */
export type PeriodUse = Readonly<Record<CapPeriod, number>>;

/**
 * What a campaign has used, reservations of other answers included. `budget` is in millionths of the payout's currency.
 */
export type CapUse = Readonly<Record<CapMetric, PeriodUse>>;

/** By `totalsKey`. Missing: nothing used. */
export type Totals = ReadonlyMap<string, CapUse>;

/**
 * What a campaign used over all publishers (`publisherId` null), or over one, where its provisioning sets total caps.
 */
export const totalsKey = (campaignId: number, publisherId: number | null): string =>
  publisherId === null ? String(campaignId) : `${campaignId} ${publisherId}`;

export type Counts = { impressions: number; clicks: number; conversions: number };

/** What was learned so far. A new object each time it is read anew; one object never changes. */
export type Posteriors = {
  /** `posteriorKey` of publisher and placement → offer id → what happened there. */
  placements: ReadonlyMap<string, ReadonlyMap<number, Counts>>;
  /** By offer id, over all placements and publishers. */
  offers: ReadonlyMap<number, Counts>;
  /** By name of the category, over all its offers. */
  categories: ReadonlyMap<string, Counts>;
  /** Campaign id → average value of a sale, in millionths; for what pays a share of sales. */
  averageSaleMicros: ReadonlyMap<number, number>;
};

export const posteriorKey = (publisherId: number, placement: string): string => `${publisherId} ${placement}`;

export const noPosteriors: Posteriors = {
  placements: new Map(),
  offers: new Map(),
  categories: new Map(),
  averageSaleMicros: new Map(),
};

export type DecidedOffer = {
  offer: Offer;
  /** From 1. */
  position: number;
  /** Expected revenue of one impression as it was drawn, in millionths of the currency. */
  score: number;
  /** Estimated chance that this offer gets this position, over all seeds. */
  propensity: number;
  priority: number;
  payout: Payout;
  /** What showing it is expected to cost the campaign's budget, in millionths, at least 0; to be reserved. */
  reserveMicros: number;
};

/** Why nothing is shown. */
export type EmptyReason = 'unit_off' | 'percentage' | 'no_campaigns' | 'nothing_eligible' | 'sequence_rules';

export type Decision = { offers: readonly DecidedOffer[]; emptyReason: EmptyReason | null };

/** One line of "why, and why not". */
export type Explanation = {
  offer: Offer;
  /** Place among all offers that could be shown, from 1; null: it was shut out. */
  rank: number | null;
  score: number | null;
  /** Where it is shown, from 1; null: not. */
  position: number | null;
  /** The first rule that kept it from being shown; null: it is shown. */
  rule: string | null;
  /** The same in words. */
  reason: string;
};
