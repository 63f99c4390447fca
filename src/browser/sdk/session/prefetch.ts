import { toJson } from '../json.ts';
import { fingerprintOf } from '../legacy-names.ts';
import { originStorage } from '../storage.ts';
import type { UserPayload } from '../types.ts';

/** Lifetime of a prefetched response, in milliseconds. */
const prefetchTtlMs = 30 * 60_000;

/** Prefetched response. `user` identifies the user and the placement. */
type PrefetchedResponse = { atMs: number; user: string; raw: unknown };

/** Returns a string that identifies a user. */
export const identityOf = (user: UserPayload): string =>
  toJson([user.pub_user_id ?? null, fingerprintOf(user) ?? null]);

/** Returns a string that identifies the user and placement of a request. */
export const requesterOf = (body: UserPayload): string => identityOf(body) + body.placement;

const keyOf = (storageKey: string): string => `answer:${storageKey}`;

/**
 * Stores a prefetched response.
 * @returns whether it was stored
 */
export const storePrefetched = (storageKey: string, body: UserPayload, raw: unknown): boolean =>
  originStorage.write(keyOf(storageKey), {
    atMs: Date.now(),
    user: requesterOf(body),
    raw,
  } satisfies PrefetchedResponse);

/** Returns the response that an earlier page prefetched for the same user and placement, or null. */
export function findPrefetched(storageKey: string, body: UserPayload): unknown {
  const stored = originStorage.read(keyOf(storageKey)) as PrefetchedResponse | null | undefined;
  const isUsable = stored && Math.abs(Date.now() - stored.atMs) < prefetchTtlMs && stored.user === requesterOf(body);
  return isUsable ? stored.raw : null;
}

/** Removes a prefetched response when it is shown, so that no later page shows it again. */
export const removePrefetched = (storageKey: string): unknown => originStorage.write(keyOf(storageKey), null);
