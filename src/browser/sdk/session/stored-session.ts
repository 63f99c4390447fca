import { tabStorage } from '../storage.ts';
import type { UserPayload } from '../types.ts';
import type { PerkChange } from '../usp/state.ts';
import { identityOf } from './prefetch.ts';

/** User Selected Perks session, stored for the tab so that the selection survives a page reload. */
export type StoredSession = {
  placement: string;
  sessionId: string;
  pubUserId: string;
  confirmationEvent: string;
  /** Response as received from the service. */
  raw: unknown;
  /** IDs of the selected campaigns. */
  selected: number[];
  pending: readonly PerkChange[];
  seenOfferIds: number[];
};

const keyOf = (storageKey: string, user: UserPayload): string => `usp:${storageKey}:${identityOf(user)}`;

/** Returns a user's unconfirmed sessions in this tab. The most recently changed session comes last. */
export const findStoredSessions = (storageKey: string, user: UserPayload): StoredSession[] =>
  (tabStorage.read(keyOf(storageKey, user)) ?? []) as StoredSession[];

/**
 * Stores an open session along with the user's other sessions, or removes a closed one.
 * @returns whether it could be stored
 */
export function storeSession(storageKey: string, user: UserPayload, session: StoredSession, isOpen: boolean): boolean {
  const others = findStoredSessions(storageKey, user).filter(({ sessionId }) => sessionId !== session.sessionId);
  if (isOpen) others.push(session);
  return tabStorage.write(keyOf(storageKey, user), others);
}
