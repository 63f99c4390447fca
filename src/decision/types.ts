import type { Totals, UserHistory } from '../budgets/caps.ts';
import type { Offer, Payout, Publisher, Theme } from '../catalog/types.ts';
import type { Model } from '../learning/model.ts';

/** Everything a decision depends on. The same input gives the same decision, bit for bit. */
export type DecisionInput = {
  publisher: Publisher;
  theme: Theme | null;
  context: DecisionContext;
  history: UserHistory;
  totals: Totals;
  model: Model;
  /** Unsigned 32-bit number, the only source of randomness. */
  seed: number;
};

/** The request. Names of platform, device, os and browser are lower case; null if unknown. */
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
  /** BCP 47 tag of the user's language; null if unknown. */
  language: string | null;
  geo: Geo;
  custom: ReadonlyMap<string, string>;
  /** Keys of the user's audiences, limited to those that campaigns refer to. */
  audiences: readonly string[];
  nowMs: number;
  /** Keyed hash of the user's identifier; null if unknown, or without consent. */
  userKey: string | null;
  loyalty: 'none' | 'also' | 'only';
  onlyWithCreative: boolean;
  campaignId: number | null;
  /** Maximum number of offers; null uses the setting of the placement, theme or publisher. */
  count: number | null;
  /** Campaigns shown at other placements of the same call; null if the call has a single placement. */
  shownElsewhere: readonly number[] | null;
  /** Changes by experiments; null for none. */
  arm: ArmRules | null;
  dev: boolean;
};

/** Changes of a decision by an arm, apart from the number of offers; absent fields change nothing. */
export type ArmRules = {
  ranking?: 'learned' | 'fixed';
  /** Minimum expected revenue of an impression (millionths), which replaces the publisher's. */
  floorMicros?: number;
  /** Campaigns that are not shown in any case. */
  withheld?: readonly number[];
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

export type DecidedOffer = {
  offer: Offer;
  /** Position from 1. */
  position: number;
  /** Sampled expected revenue of an impression, in millionths of the payout's currency. */
  score: number;
  /** Expected revenue without sampling. */
  meanMicros: number;
  priority: number;
  payout: Payout;
  /** Possible cost of the impression to the campaign's budget, to be reserved, in millionths. */
  reserveMicros: number;
  /** Probability of that cost: its share of the whole payment. */
  reserveChance: number;
};

/** Reason why nothing is shown. */
export type EmptyReason =
  | 'unit_off'
  | 'percentage'
  | 'no_campaigns'
  | 'nothing_eligible'
  | 'sequence_rules'
  | 'held_out';

export type Decision = { offers: readonly DecidedOffer[]; emptyReason: EmptyReason | null };
