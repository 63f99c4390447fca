import { tabStorage } from '../storage.ts';
import type { UserPayload } from '../types.ts';
import type { PerkChange } from '../usp/state.ts';
import { identityOf } from './prefetch.ts';

/** A User Selected Perks session, stored for the tab so that a reload of the page keeps its selection. */
export type StoredSession = {
  /** Identity of the user (prefetch.ts). */
  user: string;
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

const keyOf = (storageKey: string): string => `usp:${storageKey}`;

/** @returns whether it could be stored */
export const storeSession = (storageKey: string, session: StoredSession): boolean =>
  tabStorage.write(keyOf(storageKey), session);

export const removeStoredSession = (storageKey: string): void => tabStorage.remove(keyOf(storageKey));

/** The session of an earlier page of this tab with this user, or null. */
export function findStoredSession(storageKey: string, user: UserPayload): StoredSession | null {
  const stored = tabStorage.read(keyOf(storageKey)) as StoredSession | null | undefined;
  return stored?.user === identityOf(user) && typeof stored.sessionId === 'string' && Array.isArray(stored.selected)
    ? stored
    : null;
}
