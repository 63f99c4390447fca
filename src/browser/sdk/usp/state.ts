import type { Api } from '../api.ts';
import { describeError } from '../errors.ts';
import type { Emit } from '../types.ts';

/** Perk that the user selected or unselected. */
export type PerkChange = { campaignId: number; selected: boolean };

export type UspOptions = {
  api: Api;
  sessionId: string;
  pubUserId: string;
  /** IDs of the selected campaigns. */
  selected: Iterable<number>;
  pending: readonly PerkChange[];
  /** Name of the DOM event on window or document that confirms the perks. */
  confirmationEvent: string;
  emit: Emit;
  /** Called after every change, to store and display it. */
  onChange: () => void;
};

/**
 * Perks of one session (docs/reference/perks-and-wallet.md#user-selected-perks). Selection changes are sent in order,
 * and the selection is confirmed once.
 */
export type UspState = Omit<UspOptions, 'selected' | 'pending'> & {
  /** IDs of the selected campaigns. */
  selected: Set<number>;
  /** Changes that the server has not acknowledged yet, in the user's order. */
  pending: PerkChange[];
  sending: Promise<void> | null;
  confirming: Promise<boolean> | null;
  /** Whether a wrap request is in progress or has succeeded. */
  wrapSent: boolean;
  /** Whether the session is wrapped, by this page or elsewhere. */
  closed: boolean;
  removeListeners: () => void;
};

export const createState = (options: UspOptions): UspState => ({
  ...options,
  selected: new Set(options.selected),
  pending: [],
  sending: null,
  confirming: null,
  wrapSent: false,
  closed: false,
  removeListeners: () => {},
});

/** Returns whether the selection can still be changed. */
export const isOpen = ({ closed, confirming }: UspState): boolean => !closed && confirming === null;

export function applyChange(usp: UspState, change: PerkChange): void {
  usp.selected[change.selected ? 'add' : 'delete'](change.campaignId);
  usp.pending.push(change);
}

/** Reverts a change that the server rejected, unless a later change to the same campaign is pending. */
export function undoChange({ selected, pending }: UspState, { campaignId, selected: wasSelected }: PerkChange): void {
  if (!pending.some((later) => later.campaignId === campaignId)) selected[wasSelected ? 'delete' : 'add'](campaignId);
}

/** Merges the pending changes. For each campaign, the last change takes precedence. */
export function mergePending({ pending }: UspState): { selected: number[]; unselected: number[] } {
  const last = new Map(pending.map((change) => [change.campaignId, change.selected]));
  const idsWhere = (isSelected: boolean): number[] =>
    [...last].filter(([, selected]) => selected === isSelected).map(([id]) => id);
  return { selected: idsWhere(true), unselected: idsWhere(false) };
}

export const reportError = ({ emit }: UspState, err: unknown): void =>
  void emit('error', describeError(err, 'usp_error'));
