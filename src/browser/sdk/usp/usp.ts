import { all, on } from '../compat.ts';
import { confirm, flush } from './confirmation.ts';
import { sendPending } from './pending.ts';
import { applyChange, createState, isOpen, type PerkChange, type UspOptions, type UspState } from './state.ts';

/**
 * Creates the perks state. Listens for the confirmation event, and sends changes that were still pending on an earlier
 * page.
 */
export function createUsp(options: UspOptions): UspState {
  const usp = createState(options);
  const onConfirmation = (): void => void confirm(usp);
  usp.removeListeners = all([
    on(window, options.confirmationEvent, onConfirmation),
    on(document, options.confirmationEvent, onConfirmation),
    on(window, 'pagehide', () => flush(usp)),
  ]);
  for (const change of options.pending) applyChange(usp, change);
  sendPending(usp);
  return usp;
}

/** Changes the selection without a user click. */
export function changeSelection(usp: UspState, changes: readonly PerkChange[]): void {
  for (const change of changes) applyChange(usp, change);
  usp.onChange();
  sendPending(usp);
}

/** Applies a change made by the user. Changes that have no effect or come after the confirmation are ignored. */
export function setSelected(usp: UspState, campaignId: number, selected: boolean): void {
  if (!isOpen(usp) || usp.selected.has(campaignId) === selected) return;
  applyChange(usp, { campaignId, selected });
  usp.onChange();
  usp.emit(selected ? 'usp_selected' : 'usp_unselected', { campaign_id: campaignId });
  sendPending(usp);
}
