import { identityOf } from './prefetch.ts';
import { tabStore } from './storage.ts';
import type { UserPayload } from './types.ts';
import type { Tick } from './usp.ts';

/** A session whose ticks must not be lost when the page is loaded again, kept for the tab. */
export type Carried = {
  user: string;
  placement: string;
  sessionId: string;
  pubUserId: string;
  confirmationEvent: string;
  /** The answer as it came. */
  raw: unknown;
  selected: number[];
  pending: readonly Tick[];
  /** Offers whose impression was sent. */
  seen: number[];
};

const keyOf = (accountId: string): string => `usp:${accountId}`;

export const keepSession = (accountId: string, carried: Carried): void => tabStore.write(keyOf(accountId), carried);

export const dropSession = (accountId: string): void => tabStore.remove(keyOf(accountId));

/** The session of an earlier page of this tab with this user, or null. */
export function findSession(accountId: string, user: UserPayload): Carried | null {
  const carried = tabStore.read(keyOf(accountId)) as Carried | null | undefined;
  return carried?.user === identityOf(user) && typeof carried.sessionId === 'string' && Array.isArray(carried.selected)
    ? carried
    : null;
}
