import type { Totals, UserHistory } from '../budgets/caps.ts';
import type { Offer, Payout, Publisher, Theme } from '../catalog/types.ts';
import type { Model } from '../learning/model.ts';

/** Complete input of a decision. Identical input produces an identical decision, bit for bit. */
export type DecisionInput = {
  publisher: Publisher;
  theme: Theme | null;
  context: DecisionContext;
  history: UserHistory;
  totals: Totals;
  model: Model;
  /** Unsigned 32-bit number, the only source of randomness in the decision. */
  seed: number;
};

/**
 * Request data for a decision. The names of the platform, device, OS and browser are in lower case, or null if unknown.
 */
export type DecisionContext = {
  surface: 'unit' | 'offerwall';
  /** Normalised name of the placement. */
  placement: string;
  /** Platform: `web`, `ios` or `android`. */
  platform: string | null;
  /** Device type: `desktop`, `mobile`, `tablet` or `tv`. */
  device: string | null;
  os: string | null;
  browser: string | null;
  /** BCP 47 tag of the user's language, or null if unknown. */
  language: string | null;
  geo: Geo;
  custom: ReadonlyMap<string, string>;
  /** Keys of the audiences that the user belongs to. Audiences that no campaign refers to are left out. */
  audiences: readonly string[];
  nowMs: number;
  /** Keyed hash of the user identifier. Null if the user is unknown or has not given consent. */
  userKey: string | null;
  loyalty: 'none' | 'also' | 'only';
  onlyWithCreative: boolean;
  campaignId: number | null;
  /** Maximum number of offers, or null to use the setting of the placement, theme or publisher. */
  count: number | null;
  /** IDs of the campaigns that the same call shows at other placements. Null if the call is for a single placement. */
  shownElsewhere: readonly number[] | null;
  /** Rules that the user's experiment arms change, or null if none exists. */
  arm: ArmRules | null;
  dev: boolean;
};

/** Decision rules that an experiment arm changes, other than the number of offers. A missing field changes nothing. */
export type ArmRules = {
  ranking?: 'learned' | 'fixed';
  /** Minimum expected revenue per impression, in millionths. Replaces the publisher's revenue floor. */
  floorMicros?: number;
  /** IDs of campaigns that must not be shown. */
  withheld?: readonly number[];
};

export type Geo = {
  /** ISO 3166-1 alpha-2 country code, in upper case. */
  country: string | null;
  /** ISO 3166-2 region code, such as `US-CA`. */
  region: string | null;
  /** English city name. */
  city: string | null;
  postalCode: string | null;
  /** IANA time zone name. */
  timeZone: string | null;
};

export const unknownGeo: Geo = { country: null, region: null, city: null, postalCode: null, timeZone: null };

export type DecidedOffer = {
  offer: Offer;
  /** Position at which the offer is shown, starting at 1. */
  position: number;
  /** Sampled expected revenue per impression, in millionths of the payout's currency. */
  score: number;
  /** Mean expected revenue per impression, in millionths. */
  meanMicros: number;
  priority: number;
  payout: Payout;
  /** Possible cost of the impression, in millionths. This amount is to be reserved in the campaign's budget. */
  reserveMicros: number;
  /** Upper estimate of the probability of the full payment. The same share of the payment is reserved. */
  reserveChance: number;
};

/** Reason why a decision contains no offers. */
export type EmptyReason =
  | 'unit_off'
  | 'percentage'
  | 'no_campaigns'
  | 'nothing_eligible'
  | 'sequence_rules'
  | 'held_out';

export type Decision = { offers: readonly DecidedOffer[]; emptyReason: EmptyReason | null };
