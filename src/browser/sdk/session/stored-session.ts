import { tabStorage } from '../storage.ts';
import type { UserPayload } from '../types.ts';
import type { PerkChange } from '../usp/state.ts';
import { identityOf } from './prefetch.ts';

/** A User Selected Perks session, stored for the tab, so that it keeps its selection when the page is reloaded. */
export type StoredSession = {
  placement: string;
  sessionId: string;
  pubUserId: string;
  confirmationEvent: string;
  /** The response as received. */
  raw: unknown;
  /** Campaign ids. */
  selected: number[];
  pending: readonly PerkChange[];
  seenOfferIds: number[];
};

const keyOf = (storageKey: string, user: UserPayload): string => `usp:${storageKey}:${identityOf(user)}`;

/** This tab's unconfirmed sessions of this user, the most recently changed one last. */
export const findStoredSessions = (storageKey: string, user: UserPayload): StoredSession[] =>
  (tabStorage.read(keyOf(storageKey, user)) ?? []) as StoredSession[];

/**
 * Stores an open session with this user's others, or removes a closed one.
 * @returns whether it could be stored
 */
export function storeSession(storageKey: string, user: UserPayload, session: StoredSession, isOpen: boolean): boolean {
  const others = findStoredSessions(storageKey, user).filter(({ sessionId }) => sessionId !== session.sessionId);
  if (isOpen) others.push(session);
  return tabStorage.write(keyOf(storageKey, user), others);
}
