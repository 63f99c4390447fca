import { tabStorage } from '../storage.ts';
import type { UserPayload } from '../types.ts';
import type { PerkChange } from '../usp/state.ts';
import { identityOf } from './prefetch.ts';

/** A User Selected Perks session, stored for the tab so that a reload of the page keeps its selection. */
export type StoredSession = {
  placement: string;
  sessionId: string;
  pubUserId: string;
  confirmationEvent: string;
  /** The response as it came. */
  raw: unknown;
  /** Campaign ids. */
  selected: number[];
  pending: readonly PerkChange[];
  seenOfferIds: number[];
};

const keyOf = (storageKey: string, user: UserPayload): string => `usp:${storageKey}:${identityOf(user)}`;

/** The sessions of this tab with this user that are not confirmed, the one changed last at the end. */
export const findStoredSessions = (storageKey: string, user: UserPayload): StoredSession[] =>
  (tabStorage.read(keyOf(storageKey, user)) ?? []) as StoredSession[];

/**
 * Keeps an open session beside this user's others, and drops one that is over.
 * @returns whether it could be stored
 */
export function storeSession(storageKey: string, user: UserPayload, session: StoredSession, isOpen: boolean): boolean {
  const others = findStoredSessions(storageKey, user).filter(({ sessionId }) => sessionId !== session.sessionId);
  if (isOpen) others.push(session);
  return tabStorage.write(keyOf(storageKey, user), others);
}
