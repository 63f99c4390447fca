import { fingerprintOf } from '../legacy-names.ts';
import { originStorage } from '../storage.ts';
import type { UserPayload } from '../types.ts';

/** How long a prefetched response may be shown. */
const prefetchTtlMs = 30 * 60_000;

type PrefetchedResponse = { atMs: number; user: string; placement: string; raw: unknown };

/** The user a response was made for. */
export const identityOf = (user: UserPayload): string =>
  JSON.stringify([user.pub_user_id ?? null, fingerprintOf(user) ?? null]);

const keyOf = (accountId: string): string => `answer:${accountId}`;

export function storePrefetched(accountId: string, user: UserPayload, raw: unknown): void {
  originStorage.write(keyOf(accountId), {
    atMs: Date.now(),
    user: identityOf(user),
    placement: String(user.placement ?? ''),
    raw,
  } satisfies PrefetchedResponse);
}

/** The response that an earlier page prefetched for this user, or null. */
export function findPrefetched(accountId: string, user: UserPayload): unknown {
  const found = originStorage.read(keyOf(accountId)) as PrefetchedResponse | null | undefined;
  if (!found || !(Math.abs(Date.now() - found.atMs) < prefetchTtlMs) || found.user !== identityOf(user)) return null;
  return user.placement === undefined || found.placement === String(user.placement) ? found.raw : null;
}

/** Called when it is shown, so that no later page shows it a second time. */
export const removePrefetched = (accountId: string): void => originStorage.remove(keyOf(accountId));
