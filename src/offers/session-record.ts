import type { CapUsage, Exposure, OptOuts } from '../budgets/caps.ts';
import type { Offer } from '../catalog/types.ts';
import type { ArmRules, DecisionContext } from '../decision/types.ts';
import type { StoredExperiments } from '../experiments/assign.ts';
import type { MacroValues } from './offer-view.ts';

/** An answered fetch. */
export type SessionRecord = {
  id: string;
  publisherId: number;
  placement: string;
  themeId: number | null;
  /** Language tags that the fetch requested, separated by commas; null for none. */
  language: string | null;
  userKey: string | null;
  pubUserId: string | null;
  client: { country: string | null; device: string | null; os: string | null };
  /** Offers in the language of the response. */
  offers: readonly Offer[];
  /** Reason why no offer is shown; null if one is. */
  emptyReason: string | null;
  /** The decision (`DecisionRecord`), as JSON. */
  decision: string;
  /** The publisher's own attributes. */
  custom: ReadonlyMap<string, string>;
  macros: MacroValues;
  dev: boolean;
  usp: boolean;
  uspCheckAll: boolean;
  createdAtMs: number;
};

/** Part of a decision that has no columns in its session. As JSON: `[1, catalogVersion, scores, inputs]`. */
export type DecisionRecord = {
  catalogVersion: number;
  /** Scores of the shown offers, in order. */
  scores: readonly number[];
  inputs: StoredInputs;
};

/** Inputs of a decision that have no column in its session. Defaults are left out. */
export type StoredInputs = {
  region?: string;
  city?: string;
  postalCode?: string;
  timeZone?: string;
  browser?: string;
  wall?: true;
  /** Offer whose link opened an offerwall. */
  linkedOfferId?: number;
  loyalty?: DecisionContext['loyalty'];
  onlyWithCreative?: true;
  campaignId?: number;
  count?: number;
  /** Keys of the user's audiences, limited to those that campaigns referred to. */
  audiences?: readonly string[];
  /** Key of the user by the hash of an e-mail address. */
  emailKey?: string;
  /** Campaigns shown at other placements of the same call. */
  shownElsewhere?: readonly number[];
  /** Changes of the decision by experiments. */
  arm?: ArmRules;
  /** Experiments that applied. */
  experiments?: StoredExperiments;
  /** Offers that a hold-out would have been shown. */
  ghost?: { offers: readonly number[]; campaigns: readonly number[]; scores: readonly number[] };
  optOuts?: OptOuts;
  exposures?: readonly Exposure[];
  totals?: readonly [string, CapUsage][];
  /** Version of the ranking model; absent for 0, the empty one. */
  modelVersion?: number;
  /** Id of the catalogue's state; absent in sessions stored by an earlier release. */
  catalogue?: string;
};

/** Version of the layout. */
const layout = 1;

type StoredRecord = readonly [layout: number, catalogVersion: number, scores: readonly number[], inputs: StoredInputs];

/** Serialises the record as JSON. Numbers are read back with the same bits. */
export const writeDecisionRecord = ({ catalogVersion, scores, inputs }: DecisionRecord): string =>
  JSON.stringify([layout, catalogVersion, scores, inputs] satisfies StoredRecord);

export function readDecisionRecord(json: string): DecisionRecord {
  const [version, catalogVersion, scores, inputs] = JSON.parse(json) as StoredRecord;
  if (version !== layout) throw new Error(`a decision record of layout ${version} cannot be read`);
  return { catalogVersion, scores, inputs };
}
