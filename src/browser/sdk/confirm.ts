import { type AdState, setupOf } from './ad-state.ts';
import { SdkError } from './errors.ts';
import type { Setup } from './page.ts';
import { findStoredSessions, storeSession } from './session/stored-session.ts';
import { confirm } from './usp/confirmation.ts';
import type { UspState } from './usp/state.ts';
import { createUsp } from './usp/usp.ts';

/** Confirms what the unit shows, and what earlier pages of the tab stored. @throws SdkError */
export async function confirmAll(ad: AdState): Promise<boolean> {
  const open = [ad.session?.usp ?? [], storedPerks(ad, setupOf(ad))].flat();
  if (open.length === 0) throw new SdkError('usp_error', 'There is no session to confirm.');
  return (await Promise.all(open.map(confirm))).every(Boolean);
}

/** The DOM event confirms them, too: on a later page, such as that of the order's status, no unit may show them. */
export function listenForStoredSessions(ad: AdState): void {
  const setup = setupOf(ad);
  for (const { confirmationEvent } of findStoredSessions(setup.storageKey, setup.user))
    for (const target of [window, document])
      target.addEventListener(confirmationEvent, () => {
        for (const usp of storedPerks(ad, setup)) if (usp.confirmationEvent === confirmationEvent) confirm(usp);
      });
}

/** The perks of this tab's stored sessions: of the one that the unit shows, and of those of earlier pages. */
const storedPerks = (ad: AdState, { api, storageKey, user }: Setup): UspState[] =>
  findStoredSessions(storageKey, user).map((stored) => {
    const { sessionId } = stored;
    const shown = ad.session?.usp;
    if (shown?.sessionId === sessionId) return shown;
    const onChange = (): void => void (usp.closed && storeSession(storageKey, user, stored, false));
    ad.earlier[sessionId] ??= createUsp({ ...stored, api, emit: ad.emitter.emit, onChange });
    const usp = ad.earlier[sessionId];
    return usp;
  });
