import { isConflict, isTransient } from '../retry.ts';
import { isOpen, reportError, type UspState, undoChange } from './state.ts';

/** Delay before a change is sent again after a temporary failure, in milliseconds. */
const resendDelayMs = 3000;

/** Sends pending changes, unless they are already being sent or will be sent with the confirmation. */
export function sendPending(usp: UspState): void {
  if (usp.confirming !== null || usp.pending.length === 0) return;
  const done = (): void => {
    usp.sending = null;
  };
  usp.sending ??= sendInOrder(usp).then(done, done);
}

/**
 * Sends changes one at a time, so that the server receives them in the user's order. Rejected changes are reverted and
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
