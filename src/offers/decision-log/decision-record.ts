import type { CapUsage, Exposure, OptOuts } from '../../budgets/types.ts';
import type { Offer } from '../../catalog/types.ts';
import type { DecisionContext, DecisionInput } from '../../decision/types.ts';

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
  optOuts?: OptOuts;
  exposures?: readonly Exposure[];
  totals?: readonly [string, CapUsage][];
  /** Id of the model; absent: the empty model. */
  model?: string;
};

/** Version of the layout. */
const layout = 1;

type StoredRecord = readonly [layout: number, catalogVersion: number, scores: readonly number[], inputs: StoredInputs];

/** JSON writes numbers so that the same bits are read back. */
export const writeDecisionRecord = ({ catalogVersion, scores, inputs }: DecisionRecord): string =>
  JSON.stringify([layout, catalogVersion, scores, inputs] satisfies StoredRecord);

export function readDecisionRecord(json: string): DecisionRecord {
  const [version, catalogVersion, scores, inputs] = JSON.parse(json) as StoredRecord;
  if (version !== layout) throw new Error(`a decision record of layout ${version} cannot be read`);
  return { catalogVersion, scores, inputs };
}

export function storedInputsOf(
  { context, history, totals }: DecisionInput,
  modelId: string | null,
  linkedOfferId: number | null,
): StoredInputs {
  const { geo, surface, browser, loyalty, onlyWithCreative, campaignId, count } = context;
  const inputs: StoredInputs = {};
  if (geo.region !== null) inputs.region = geo.region;
  if (geo.city !== null) inputs.city = geo.city;
  if (geo.postalCode !== null) inputs.postalCode = geo.postalCode;
  if (geo.timeZone !== null) inputs.timeZone = geo.timeZone;
  if (browser !== null) inputs.browser = browser;
  if (surface === 'offerwall') inputs.wall = true;
  if (linkedOfferId !== null) inputs.linkedOfferId = linkedOfferId;
  if (loyalty !== 'none') inputs.loyalty = loyalty;
  if (onlyWithCreative) inputs.onlyWithCreative = true;
  if (campaignId !== null) inputs.campaignId = campaignId;
  if (count !== null) inputs.count = count;
  if (Object.keys(history.optOuts).length > 0) inputs.optOuts = history.optOuts;
  if (history.exposures.length > 0) inputs.exposures = history.exposures;
  if (totals.size > 0) inputs.totals = [...totals];
  if (modelId !== null) inputs.model = modelId;
  return inputs;
}

/** The decided offers with the one first whose link led to the offerwall, if it is among them. */
export function withLinkedFirst<Shown extends { offer: Offer }>(
  shown: readonly Shown[],
  linkedOfferId: number | null,
): readonly Shown[] {
  const linked = shown.find(({ offer }) => offer.id === linkedOfferId);
  return linked === undefined ? shown : [linked, ...shown.filter((one) => one !== linked)];
}
