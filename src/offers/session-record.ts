import type { CapUsage, Exposure, OptOuts } from '../budgets/caps.ts';
import type { Offer } from '../catalog/types.ts';
import type { ArmRules, DecidedOffer, DecisionContext } from '../decision/types.ts';
import type { StoredExperiments } from '../experiments/assign.ts';
import type { MacroValues } from './offer-view.ts';

/** A fetch that was answered. */
export type SessionRecord = {
  id: string;
  publisherId: number;
  placement: string;
  themeId: number | null;
  /** Tags that the fetch asked for, separated by commas; null: none. */
  language: string | null;
  userKey: string | null;
  pubUserId: string | null;
  client: { country: string | null; device: string | null; os: string | null };
  /** In the language of the answer. */
  offers: readonly Offer[];
  /** Why no offer is shown; null when one is. */
  emptyReason: string | null;
  decision: DecisionRecord;
  /** The publisher's own attributes. */
  custom: ReadonlyMap<string, string>;
  macros: MacroValues;
  dev: boolean;
  usp: boolean;
  uspCheckAll: boolean;
  createdAtMs: number;
};

/** A session as it was decided: its offers with what the decision says about them. */
export type DecidedSession = SessionRecord & { decided: readonly DecidedOffer[] };

/** What a session stores of its decision beside its columns. As JSON: `[1, catalogVersion, scores, inputs]`. */
export type DecisionRecord = {
  catalogVersion: number;
  /** Of the offers shown, in their order. */
  scores: readonly number[];
  inputs: StoredInputs;
};

/** The inputs of a decision that no column of its session has; what has its default is left out. */
export type StoredInputs = {
  region?: string;
  city?: string;
  postalCode?: string;
  timeZone?: string;
  browser?: string;
  wall?: true;
  /** The offer whose link led to an offerwall. */
  linkedOfferId?: number;
  loyalty?: DecisionContext['loyalty'];
  onlyWithCreative?: true;
  campaignId?: number;
  count?: number;
  /** Keys of the audiences that the user was in, of those that campaigns named. */
  audiences?: readonly string[];
  /** Key of the user by the hash of an e-mail address. */
  emailKey?: string;
  /** Campaigns shown at other placements of the same call. */
  shownElsewhere?: readonly number[];
  /** What experiments change of the decision. */
  arm?: ArmRules;
  /** The experiments that applied. */
  experiments?: StoredExperiments;
  /** What would have been shown to a hold-out. */
  ghost?: { offers: readonly number[]; campaigns: readonly number[]; scores: readonly number[] };
  optOuts?: OptOuts;
  exposures?: readonly Exposure[];
  totals?: readonly [string, CapUsage][];
  /** Version of the ranking model; absent: 0, the empty one. */
  modelVersion?: number;
  /** Id of the catalogue's state; absent: of a session that an earlier version stored. */
  catalogue?: string;
};
