import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, minuteMs } from '../../platform/lib/time.ts';
import { createToken, hashToken } from './tokens.ts';
import { type User, type UserRow, userColumns, userOf } from './users.ts';

/** A session ends this long after sign-in (milliseconds). */
export const sessionLifetimeMs = 7 * dayMs;
/** A session ends after this long without a request (milliseconds). */
export const sessionIdleTimeoutMs = dayMs;
/** `last_seen_at` is written at most this often (milliseconds). */
const lastSeenStepMs = minuteMs;

/**
 * Starts a session and ends the browser's previous one.
 * @returns the value of the session cookie
 */
export async function startSession(
  executor: Executor,
  userId: number,
  previous: string | null,
  nowMs: number,
): Promise<string> {
  const token = createToken();
  await executor.query('delete from user_sessions where expires_at < $1 or last_seen_at < $2', [
    new Date(nowMs),
    new Date(nowMs - sessionIdleTimeoutMs),
  ]);
  if (previous !== null) await endSession(executor, previous);
  await executor.query(
    `insert into user_sessions (token_hash, user_id, created_at, last_seen_at, expires_at)
    values ($1, $2, $3, $3, $4)`,
    [hashToken(token), userId, new Date(nowMs), new Date(nowMs + sessionLifetimeMs)],
  );
  return token;
}

/** The user of a session; null: it is unknown or has ended, or the user is disabled. */
export async function findSession(executor: Executor, token: string, nowMs: number): Promise<User | null> {
  const { rows } = await executor.query<UserRow & { last_seen_at: Date }>(
    `select ${userColumns}, s.last_seen_at from user_sessions s join users u on u.id = s.user_id
    where s.token_hash = $1 and s.expires_at > $2 and s.last_seen_at > $3 and not u.disabled`,
    [hashToken(token), new Date(nowMs), new Date(nowMs - sessionIdleTimeoutMs)],
  );
  const [row] = rows;
  if (row === undefined) return null;
  if (nowMs - row.last_seen_at.getTime() > lastSeenStepMs)
    await executor.query('update user_sessions set last_seen_at = $2 where token_hash = $1', [
      hashToken(token),
      new Date(nowMs),
    ]);
  return userOf(row);
}

export async function endSession(executor: Executor, token: string): Promise<void> {
  await executor.query('delete from user_sessions where token_hash = $1', [hashToken(token)]);
}

/** Signs a user out everywhere. */
export async function endSessionsOf(executor: Executor, userId: number): Promise<void> {
  await executor.query('delete from user_sessions where user_id = $1', [userId]);
}
