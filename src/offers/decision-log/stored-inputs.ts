import type { CapUse, DecisionContext, DecisionInput, Exposure, OptOuts } from '../../decision/types.ts';

/** The inputs of a decision that no column of its session has; what has its default is left out. */
export type StoredInputs = {
  wall?: true;
  /** The offer whose link led to an offerwall. */
  first?: number;
  postalCode?: string;
  timeZone?: string;
  loyalty?: DecisionContext['loyalty'];
  onlyWithCreative?: true;
  campaignId?: number;
  count?: number;
  optOuts?: OptOuts;
  exposures?: readonly Exposure[];
  totals?: readonly [string, CapUse][];
  /** Id of the model; absent: the empty model. */
  model?: string;
};

/** The inputs as JSON; null where all have their default, as in most sessions of most catalogues. */
export function storeInputs(
  { context, history, totals }: DecisionInput,
  modelId: string | null,
  linkedOfferId: number | null,
): string | null {
  const { geo, surface, loyalty, onlyWithCreative, campaignId, count } = context;
  let stored: StoredInputs | null = null;
  const add = (part: StoredInputs): void => {
    stored = stored === null ? part : Object.assign(stored, part);
  };
  if (surface === 'offerwall') add({ wall: true });
  if (linkedOfferId !== null) add({ first: linkedOfferId });
  if (geo.postalCode !== null) add({ postalCode: geo.postalCode });
  if (geo.timeZone !== null) add({ timeZone: geo.timeZone });
  if (loyalty !== 'none') add({ loyalty });
  if (onlyWithCreative) add({ onlyWithCreative });
  if (campaignId !== null) add({ campaignId });
  if (count !== null) add({ count });
  if (!isEmpty(history.optOuts)) add({ optOuts: history.optOuts });
  if (history.exposures.length > 0) add({ exposures: history.exposures });
  if (totals.size > 0) add({ totals: [...totals] });
  if (modelId !== null) add({ model: modelId });
  return stored === null ? null : JSON.stringify(stored);
}

export function isEmpty(object: object): boolean {
  for (const _key in object) return false;
  return true;
}
