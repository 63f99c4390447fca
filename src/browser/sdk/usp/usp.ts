import { isConflict, isTransient } from '../retry.ts';
import { confirm, flush } from './confirmation.ts';
import {
  applyChange,
  createState,
  isOpen,
  type PerkChange,
  reportError,
  type UspOptions,
  type UspState,
  undoChange,
} from './state.ts';

/** Delay before a change that failed for a transient reason is sent again. */
const resendDelayMs = 3000;

/** Sends what is pending, unless that is in progress or the confirmation takes it along. */
function sendPending(usp: UspState): void {
  if (usp.confirming !== null || usp.pending.length === 0) return;
  usp.sending ??= sendInOrder(usp).finally(() => {
    usp.sending = null;
  });
}

/**
 * One call after another, so that the server gets the changes in the user's order. What it refuses is undone, and
 * reported.
 */
async function sendInOrder(usp: UspState): Promise<void> {
  const { api, sessionId, pubUserId, pending } = usp;
  for (let change = pending[0]; change !== undefined && isOpen(usp); change = pending[0]) {
    try {
      await api.select(sessionId, change.campaignId, change.selected, pubUserId);
    } catch (err) {
      if (isTransient(err)) return void setTimeout(sendPending, resendDelayMs, usp);
      usp.closed ||= isConflict(err);
      for (const refused of pending.splice(0, usp.closed ? pending.length : 1)) undoChange(usp, refused);
      usp.onChange();
      reportError(usp, err);
      continue;
    }
    pending.shift();
    usp.onChange();
  }
}

/** Listens for the confirmation, and sends what an earlier page left pending. */
export function createUsp(options: UspOptions): UspState {
  const usp = createState(options);
  const onConfirmation = (): void => void confirm(usp);
  const listening = new AbortController();
  for (const target of [window, document])
    target.addEventListener(options.confirmationEvent, onConfirmation, listening);
  window.addEventListener('pagehide', () => flush(usp), listening);
  usp.removeListeners = () => listening.abort();
  for (const change of options.pending) applyChange(usp, change);
  sendPending(usp);
  return usp;
}

/** Changes that nobody clicked. */
export function changeSelection(usp: UspState, changes: readonly PerkChange[]): void {
  for (const change of changes) applyChange(usp, change);
  usp.onChange();
  sendPending(usp);
}

/** A change by the user; ignored when it changes nothing or the selection is confirmed. */
export function setSelected(usp: UspState, campaignId: number, selected: boolean): void {
  if (!isOpen(usp) || usp.selected.has(campaignId) === selected) return;
  applyChange(usp, { campaignId, selected });
  usp.onChange();
  usp.emit(selected ? 'usp_selected' : 'usp_unselected', { campaign_id: campaignId });
  sendPending(usp);
}
