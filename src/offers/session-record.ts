import type { CapUsage, Exposure, OptOuts } from '../budgets/caps.ts';
import type { Offer } from '../catalog/types.ts';
import type { ArmRules, DecisionContext } from '../decision/types.ts';
import type { StoredExperiments } from '../experiments/assign.ts';
import type { MacroValues } from './offer-view.ts';

/** Answered fetch as stored in the database. */
export type SessionRecord = {
  id: string;
  publisherId: number;
  placement: string;
  themeId: number | null;
  /** Requested language tags, separated by commas, or null if none exists. */
  language: string | null;
  userKey: string | null;
  pubUserId: string | null;
  client: { country: string | null; device: string | null; os: string | null };
  /** Shown offers in the language of the response. */
  offers: readonly Offer[];
  /** Reason why no offer is shown, or null if at least one offer is shown. */
  emptyReason: string | null;
  /** Decision record (`DecisionRecord`) as JSON. */
  decision: string;
  /** Custom attributes of the fetch. */
  custom: ReadonlyMap<string, string>;
  macros: MacroValues;
  dev: boolean;
  usp: boolean;
  uspCheckAll: boolean;
  createdAtMs: number;
};

/** Part of a decision that is not stored in session columns. JSON format: `[1, catalogVersion, scores, inputs]`. */
export type DecisionRecord = {
  catalogVersion: number;
  /** Scores of the shown offers, in offer order. */
  scores: readonly number[];
  inputs: StoredInputs;
};

/** Decision inputs that have no column in the session. Inputs with default values are omitted. */
export type StoredInputs = {
  region?: string;
  city?: string;
  postalCode?: string;
  timeZone?: string;
  browser?: string;
  wall?: true;
  /** ID of the offer whose link opened the offerwall. */
  linkedOfferId?: number;
  loyalty?: DecisionContext['loyalty'];
  onlyWithCreative?: true;
  campaignId?: number;
  count?: number;
  /** Keys of the user's audiences that campaigns referred to. */
  audiences?: readonly string[];
  /** User key derived from the hash of an e-mail address. */
  emailKey?: string;
  /** IDs of the campaigns shown at other placements of the same call. */
  shownElsewhere?: readonly number[];
  /** Changes that experiments made to the rules of the decision. */
  arm?: ArmRules;
  /** Experiments that applied to this fetch. */
  experiments?: StoredExperiments;
  /** Offers that the user would have been shown if the user were not in the hold-out group. */
  ghost?: { offers: readonly number[]; campaigns: readonly number[]; scores: readonly number[] };
  optOuts?: OptOuts;
  exposures?: readonly Exposure[];
  totals?: readonly [string, CapUsage][];
  /** Version of the ranking model. Absent for version 0, which is the empty model. */
  modelVersion?: number;
  /** ID of the catalogue state. Absent in sessions stored by an earlier release. */
  catalogue?: string;
};

/** Version of the JSON format. */
const layout = 1;

type StoredRecord = readonly [layout: number, catalogVersion: number, scores: readonly number[], inputs: StoredInputs];

/** Serialises a decision record as JSON. All numbers are restored exactly when it is parsed. */
export const writeDecisionRecord = ({ catalogVersion, scores, inputs }: DecisionRecord): string =>
  JSON.stringify([layout, catalogVersion, scores, inputs] satisfies StoredRecord);

export function readDecisionRecord(json: string): DecisionRecord {
  const [version, catalogVersion, scores, inputs] = JSON.parse(json) as StoredRecord;
  if (version !== layout) throw new Error(`a decision record of layout ${version} cannot be read`);
  return { catalogVersion, scores, inputs };
}
