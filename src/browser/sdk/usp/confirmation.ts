import type { SelectionChange, SessionView } from '../api.ts';
import { isConflict, isTransient, withRetries } from '../retry.ts';
import { sendPending } from './pending.ts';
import { mergePending, reportError, type UspState, undoChange } from './state.ts';

/**
 * Sends pending changes, then wraps the session. Later calls return the result of the first call, unless that call
 * failed.
 * @returns whether the session is wrapped
 */
export function confirm(usp: UspState): Promise<boolean> {
  usp.confirming ??= wrapSession(usp);
  return usp.confirming;
}

/**
 * Wraps the session. If there are no pending changes, nothing is awaited before the wrap request, so that it is sent
 * before the page unloads.
 */
async function wrapSession(usp: UspState): Promise<boolean> {
  try {
    if (usp.sending !== null) await usp.sending;
    if (usp.pending.length > 0) await sendTogether(usp);
    const view = await withRetries(() => wrap(usp));
    usp.closed = true;
    usp.onChange();
    const codes = view.campaigns === undefined ? {} : { campaigns: view.campaigns };
    usp.emit('usp_confirmed', { selected: view.selected, ...codes });
    return true;
  } catch (err) {
    usp.confirming = null;
    usp.closed ||= isConflict(err);
    usp.onChange();
    reportError(usp, err);
    sendPending(usp);
    return false;
  }
}

/**
 * Sends the pending changes in one request. Changes that the server rejects are reverted and reported. The rest of the
 * selection is still confirmed.
 */
async function sendTogether(usp: UspState): Promise<void> {
  try {
    await withRetries(() => updateSelection(usp));
    usp.pending.length = 0;
  } catch (err) {
    if (isTransient(err) || isConflict(err)) throw err;
    for (const refused of usp.pending.splice(0)) undoChange(usp, refused);
    usp.onChange();
    reportError(usp, err);
  }
}

/**
 * Sends the remaining changes when the page unloads. They are sent in a single request that outlives the page, because
 * separate requests could arrive in any order.
 */
export function flush(usp: UspState): void {
  if (usp.closed || usp.wrapSent) return;
  if (usp.confirming !== null) wrap(usp, mergePending(usp)).catch(() => {});
  else if (usp.pending.length > 0) updateSelection(usp).catch(() => {});
}

const updateSelection = (usp: UspState): Promise<unknown> =>
  usp.api.updateSelection(usp.sessionId, mergePending(usp), usp.pubUserId);

async function wrap(usp: UspState, change?: SelectionChange): Promise<SessionView> {
  usp.wrapSent = true;
  try {
    return await usp.api.wrap(usp.sessionId, usp.pubUserId, change);
  } catch (err) {
    usp.wrapSent = false;
    throw err;
  }
}
