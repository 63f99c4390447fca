import { fingerprintOf } from './legacy-names.ts';
import { localStore } from './storage.ts';
import type { UserPayload } from './types.ts';

/** How long a prefetched answer may be shown (milliseconds). */
const keptMs = 30 * 60_000;

type Kept = { atMs: number; user: string; placement: string; raw: unknown };

/** The user an answer was made for. */
export const identityOf = (user: UserPayload): string =>
  JSON.stringify([user.pub_user_id ?? null, fingerprintOf(user) ?? null]);

const keyOf = (accountId: string): string => `answer:${accountId}`;

export function keepAnswer(accountId: string, user: UserPayload, raw: unknown): void {
  localStore.write(keyOf(accountId), {
    atMs: Date.now(),
    user: identityOf(user),
    placement: String(user.placement ?? ''),
    raw,
  } satisfies Kept);
}

/** The answer that an earlier page prefetched for this user, or null. */
export function findAnswer(accountId: string, user: UserPayload): unknown {
  const kept = localStore.read(keyOf(accountId)) as Kept | null | undefined;
  if (!kept || !(Math.abs(Date.now() - kept.atMs) < keptMs) || kept.user !== identityOf(user)) return null;
  return user.placement === undefined || kept.placement === String(user.placement) ? kept.raw : null;
}

/** What was shown is not shown again by a later page. */
export const dropAnswer = (accountId: string): void => localStore.remove(keyOf(accountId));
