import type { Executor } from '../../platform/db/pool.ts';
import { createToken, hashToken } from './tokens.ts';
import { type User, type UserRow, userColumns, userOf } from './users.ts';

/** A session ends this long after the sign-in, or after this long without use (milliseconds). */
export const sessionMs = 7 * 86_400_000;
const idleMs = 86_400_000;
/** The last use is written at most this often. */
const seenStepMs = 60_000;

/** Starts a session and ends the one the browser had before. @returns the cookie's value */
export async function startSession(
  executor: Executor,
  userId: number,
  before: string | null,
  nowMs: number,
): Promise<string> {
  const token = createToken();
  await executor.query('delete from user_sessions where expires_at < $1 or last_seen_at < $2', [
    new Date(nowMs),
    new Date(nowMs - idleMs),
  ]);
  if (before !== null) await endSession(executor, before);
  await executor.query(
    'insert into user_sessions (token_hash, user_id, created_at, last_seen_at, expires_at) values ($1, $2, $3, $3, $4)',
    [hashToken(token), userId, new Date(nowMs), new Date(nowMs + sessionMs)],
  );
  return token;
}

/** Whose session this is; null: nobody's, ended, or its user is disabled. */
export async function findSession(executor: Executor, token: string, nowMs: number): Promise<User | null> {
  const { rows } = await executor.query<UserRow & { last_seen_at: Date }>(
    `select ${userColumns}, s.last_seen_at from user_sessions s join users u on u.id = s.user_id
    where s.token_hash = $1 and s.expires_at > $2 and s.last_seen_at > $3 and not u.disabled`,
    [hashToken(token), new Date(nowMs), new Date(nowMs - idleMs)],
  );
  const [row] = rows;
  if (row === undefined) return null;
  if (nowMs - row.last_seen_at.getTime() > seenStepMs)
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
