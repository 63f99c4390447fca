import type { Totals, UserHistory } from '../budgets/caps.ts';
import type { Offer, Payout, Publisher, Theme } from '../catalog/types.ts';
import type { Model } from '../learning/model.ts';

/** Everything a decision depends on: the same input gives the same decision, bit for bit. */
export type DecisionInput = {
  publisher: Publisher;
  theme: Theme | null;
  context: DecisionContext;
  history: UserHistory;
  totals: Totals;
  model: Model;
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
  /** BCP 47 tag of what the user reads; null: not said. */
  language: string | null;
  geo: Geo;
  custom: ReadonlyMap<string, string>;
  /** Keys of the audiences that the user is in, of those that campaigns name. */
  audiences: readonly string[];
  nowMs: number;
  /** Keyed hash of the user's identifier; null: unknown, or without consent. */
  userKey: string | null;
  loyalty: 'none' | 'also' | 'only';
  onlyWithCreative: boolean;
  campaignId: number | null;
  /** Most offers; null: the setting of placement, theme or publisher. */
  count: number | null;
  /** Campaigns shown at other placements of the same call; null: the call names one placement. */
  shownElsewhere: readonly number[] | null;
  /** What the experiments of the request say of its decision; null: nothing. */
  arm: ArmRules | null;
  dev: boolean;
};

/** What an arm changes of a decision beside the number of offers; absent: nothing. */
export type ArmRules = {
  ranking?: 'learned' | 'fixed';
  /** Least expected revenue of an impression (millionths), in place of the publisher's. */
  floorMicros?: number;
  /** Campaigns that are not shown, whatever else is said of them. */
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
  /** From 1. */
  position: number;
  /** Sampled expected revenue of one impression, in millionths of the payout's currency. */
  score: number;
  /** The same without sampling. */
  meanMicros: number;
  priority: number;
  payout: Payout;
  /** What the impression may cost the campaign's budget, to be reserved, in millionths. */
  reserveMicros: number;
  /** The chance of that: what it is of the whole that is paid. */
  reserveChance: number;
};

/** Why nothing is shown. */
export type EmptyReason =
  | 'unit_off'
  | 'percentage'
  | 'no_campaigns'
  | 'nothing_eligible'
  | 'sequence_rules'
  | 'held_out';

export type Decision = { offers: readonly DecidedOffer[]; emptyReason: EmptyReason | null };
