import type { CapEvent, CapMetric, CapPeriod } from '../catalog/rules/rules.ts';
import type { Offer, Payout, Publisher, Theme } from '../catalog/snapshot/types.ts';

/** Everything a decision depends on: the same input gives the same decision, bit for bit. */
export type DecisionInput = {
  publisher: Publisher;
  theme: Theme | null;
  context: DecisionContext;
  history: UserHistory;
  totals: Totals;
  posteriors: Posteriors;
  /** 32 bits, unsigned; the only source of randomness. */
  seed: number;
};

/** The request. Names of platform, device, os and browser are lower case; null: unknown. */
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
  /** Keyed hash of the user's identifier; null: unknown, or without consent. */
  userKey: string | null;
  loyalty: 'none' | 'also' | 'only';
  onlyWithCreative: boolean;
  campaignId: number | null;
  /** Most offers; null: the setting of placement, theme or publisher. */
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
  /** IANA name. */
  timeZone: string | null;
};

export const unknownGeo: Geo = { country: null, region: null, city: null, postalCode: null, timeZone: null };

/** An event of the user, or an impression reserved by another answer in progress. */
export type Exposure = {
  event: CapEvent;
  offerId: number;
  campaignId: number;
  advertiserId: number;
  /** Epoch milliseconds. */
  atMs: number;
  /** Number of events, where old ones are aggregated; absent: 1. */
  count?: number;
};

export type UserHistory = {
  /** By campaign id: end of the opt-out in epoch seconds, or null for no end. */
  optOuts: OptOuts;
  /** In any order. */
  exposures: readonly Exposure[];
};

export type OptOuts = Readonly<Record<string, number | null>>;

export const noHistory: UserHistory = { optOuts: {}, exposures: [] };

/** Use of a metric in the current hour, day and month (time zone of the campaign's owner), and in all. */
export type PeriodUse = Readonly<Record<CapPeriod, number>>;

/** Use of a campaign, reservations included; `budget` in millionths of the payout's currency. */
export type CapUsage = Readonly<Record<CapMetric, PeriodUse>>;

/** By `totalsKey`; missing: no use. */
export type Totals = ReadonlyMap<string, CapUsage>;

export const noTotals: Totals = new Map();

/** Key of a campaign's use at all publishers (`publisherId` null), or at one whose provisioning sets total caps. */
export const totalsKey = (campaignId: number, publisherId: number | null): string =>
  publisherId === null ? String(campaignId) : `${campaignId} ${publisherId}`;

export type Counts = { impressions: number; clicks: number; conversions: number };

/** Counts from which rates are estimated. Immutable: a refresh gives a new object. */
export type Posteriors = {
  /** By `posteriorKey` of publisher and placement, then by offer id. */
  placements: ReadonlyMap<string, ReadonlyMap<number, Counts>>;
  /** By offer id, over all placements and publishers. */
  offers: ReadonlyMap<number, Counts>;
  /** By name of the category, over all its offers. */
  categories: ReadonlyMap<string, Counts>;
  /** Average value of a sale by campaign id, in millionths; for `cps`. */
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
  /** Sampled expected revenue of one impression, in millionths of the payout's currency. */
  score: number;
  priority: number;
  payout: Payout;
  /** Expected cost of the impression for the campaign's budget, to be reserved, in millionths. */
  reserveMicros: number;
};

/** Why nothing is shown. */
export type EmptyReason = 'unit_off' | 'percentage' | 'no_campaigns' | 'nothing_eligible' | 'sequence_rules';

export type Decision = { offers: readonly DecidedOffer[]; emptyReason: EmptyReason | null };
