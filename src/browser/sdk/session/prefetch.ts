import { fingerprintOf } from '../legacy-names.ts';
import { originStorage } from '../storage.ts';
import type { UserPayload } from '../types.ts';

/** How long a prefetched response may be shown. */
const prefetchTtlMs = 30 * 60_000;

type PrefetchedResponse = { atMs: number; user: string; placement: string; raw: unknown };

/** The user a response was made for. */
export const identityOf = (user: UserPayload): string =>
  JSON.stringify([user.pub_user_id ?? null, fingerprintOf(user) ?? null]);

const keyOf = (storageKey: string): string => `answer:${storageKey}`;

/** @returns whether it could be stored */
export function storePrefetched(storageKey: string, user: UserPayload, raw: unknown): boolean {
  return originStorage.write(keyOf(storageKey), {
    atMs: Date.now(),
    user: identityOf(user),
    placement: String(user.placement ?? ''),
    raw,
  } satisfies PrefetchedResponse);
}

/** The response that an earlier page prefetched for this user, or null. */
export function findPrefetched(storageKey: string, user: UserPayload): unknown {
  const found = originStorage.read(keyOf(storageKey)) as PrefetchedResponse | null | undefined;
  if (!found || !(Math.abs(Date.now() - found.atMs) < prefetchTtlMs) || found.user !== identityOf(user)) return null;
  return user.placement === undefined || found.placement === String(user.placement) ? found.raw : null;
}

/** Called when it is shown, so that no later page shows it a second time. */
export const removePrefetched = (storageKey: string): void => originStorage.remove(keyOf(storageKey));
