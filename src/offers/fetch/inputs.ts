import type { CapUse, DecisionContext, DecisionInput, Exposure, OptOuts } from '../../decision/types.ts';

/** What a session keeps of its decision's input that no other column holds; what is usual is left out. */
export type StoredInputs = {
  wall?: true;
  /** The offer that led to an offerwall. */
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
  /** Names the state of what was learned; absent: nothing. */
  model?: string;
};

/** The input as JSON, or null where all of it is as usual: most sessions of most catalogues. */
export function storeInputs(
  { context, history, totals }: DecisionInput,
  learntId: string | null,
  first: number | null,
): string | null {
  const { geo, surface, loyalty, onlyWithCreative, campaignId, count } = context;
  let stored: StoredInputs | null = null;
  const keep = (part: StoredInputs): void => {
    stored = stored === null ? part : Object.assign(stored, part);
  };
  if (surface === 'offerwall') keep({ wall: true });
  if (first !== null) keep({ first });
  if (geo.postalCode !== null) keep({ postalCode: geo.postalCode });
  if (geo.timeZone !== null) keep({ timeZone: geo.timeZone });
  if (loyalty !== 'none') keep({ loyalty });
  if (onlyWithCreative) keep({ onlyWithCreative });
  if (campaignId !== null) keep({ campaignId });
  if (count !== null) keep({ count });
  if (!isEmpty(history.optOuts)) keep({ optOuts: history.optOuts });
  if (history.exposures.length > 0) keep({ exposures: history.exposures });
  if (totals.size > 0) keep({ totals: [...totals] });
  if (learntId !== null) keep({ model: learntId });
  return stored === null ? null : JSON.stringify(stored);
}

export function isEmpty(object: object): boolean {
  for (const _key in object) return false;
  return true;
}
