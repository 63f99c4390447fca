import { toJson } from '../json.ts';
import { fingerprintOf } from '../legacy-names.ts';
import { originStorage } from '../storage.ts';
import type { UserPayload } from '../types.ts';

/** How long a prefetched response may be shown. */
const prefetchTtlMs = 30 * 60_000;

/** `user`: with the placement. */
type PrefetchedResponse = { atMs: number; user: string; raw: unknown };

/** The user a response was made for. */
export const identityOf = (user: UserPayload): string =>
  toJson([user.pub_user_id ?? null, fingerprintOf(user) ?? null]);

/** Who a request body asks for, and where. */
export const requesterOf = (body: UserPayload): string => identityOf(body) + body.placement;

const keyOf = (storageKey: string): string => `answer:${storageKey}`;

/** @returns whether it could be stored */
export const storePrefetched = (storageKey: string, body: UserPayload, raw: unknown): boolean =>
  originStorage.write(keyOf(storageKey), {
    atMs: Date.now(),
    user: requesterOf(body),
    raw,
  } satisfies PrefetchedResponse);

/** The response that an earlier page prefetched for the same user and placement, or null. */
export function findPrefetched(storageKey: string, body: UserPayload): unknown {
  const found = originStorage.read(keyOf(storageKey)) as PrefetchedResponse | null | undefined;
  const isUsable = found && Math.abs(Date.now() - found.atMs) < prefetchTtlMs && found.user === requesterOf(body);
  return isUsable ? found.raw : null;
}

/** Called when it is shown, so that no later page shows it a second time. */
export const removePrefetched = (storageKey: string): unknown => originStorage.write(keyOf(storageKey), null);
