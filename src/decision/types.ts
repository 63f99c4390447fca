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
  /** Unsigned 32-bit number that is the only source of randomness. */
  seed: number;
};

/** Request data for a decision. Names of the platform, device, OS and browser are in lower case, or null if unknown. */
export type DecisionContext = {
  surface: 'unit' | 'offerwall';
  /** Normalised placement name. */
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
  /** Keys of the user's audiences. Audiences that no campaign refers to are omitted. */
  audiences: readonly string[];
  nowMs: number;
  /** Keyed hash of the user identifier. Null if the user is unknown, or has not given consent. */
  userKey: string | null;
  loyalty: 'none' | 'also' | 'only';
  onlyWithCreative: boolean;
  campaignId: number | null;
  /** Maximum number of offers, or null to use the setting of the placement, theme or publisher. */
  count: number | null;
  /** Ids of campaigns shown at other placements of the same call, or null if the call has a single placement. */
  shownElsewhere: readonly number[] | null;
  /** Rule changes by experiment arms, or null if there are none. */
  arm: ArmRules | null;
  dev: boolean;
};

/** Decision rules that an experiment arm changes, apart from the number of offers. Absent fields change nothing. */
export type ArmRules = {
  ranking?: 'learned' | 'fixed';
  /** Minimum expected revenue per impression, in millionths. Replaces the publisher's floor. */
  floorMicros?: number;
  /** Ids of campaigns that must not be shown. */
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
  /** Position at which the offer is shown, from 1. */
  position: number;
  /** Sampled expected revenue per impression, in millionths of the payout's currency. */
  score: number;
  /** Mean expected revenue per impression, in millionths. */
  meanMicros: number;
  priority: number;
  payout: Payout;
  /** Possible cost of the impression, in millionths, to be reserved in the campaign's budget. */
  reserveMicros: number;
  /** Upper estimate of the probability of the full payment, which equals the reserved share of it. */
  reserveChance: number;
};

/** Reason why a decision shows no offers. */
export type EmptyReason =
  | 'unit_off'
  | 'percentage'
  | 'no_campaigns'
  | 'nothing_eligible'
  | 'sequence_rules'
  | 'held_out';

export type Decision = { offers: readonly DecidedOffer[]; emptyReason: EmptyReason | null };
