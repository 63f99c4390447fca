import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, hourMs } from '../../platform/lib/time.ts';
import { createToken, hashToken } from '../../platform/security/random-token.ts';
import type { User } from '../../shell/context.ts';
import { type UserRow, userColumns, userOf } from '../users.ts';

/** Lifetimes (milliseconds). */
export const invitationLifetimeMs = 7 * dayMs;
export const resetLifetimeMs = hourMs;
const firstOperatorLifetimeMs = dayMs;

/** Path of one-time links; the token follows. */
export const linkPath = '/dashboard/start/';

/**
 * A link with which this user sets a password; it replaces earlier ones.
 * @returns its token, which is not stored
 */
export async function createInvitation(executor: Executor, userId: number, nowMs: number): Promise<string> {
  await deleteLinksOf(executor, userId);
  return insert(executor, userId, nowMs + invitationLifetimeMs);
}

/**
 * A short-lived link with which this user sets a new password. Earlier ones stay valid: who asks for many in the name
 * of another must not make the other's useless.
 */
export async function createPasswordReset(executor: Executor, userId: number, nowMs: number): Promise<string> {
  await executor.query('delete from user_links where user_id = $1 and expires_at < $2', [userId, new Date(nowMs)]);
  return insert(executor, userId, nowMs + resetLifetimeMs);
}

export async function deleteLinksOf(executor: Executor, userId: number): Promise<void> {
  await executor.query('delete from user_links where user_id = $1', [userId]);
}

/** A link that creates the first operator. */
export const createFirstOperatorLink = (executor: Executor, nowMs: number): Promise<string> =>
  insert(executor, null, nowMs + firstOperatorLifetimeMs);

async function insert(executor: Executor, userId: number | null, expiresMs: number): Promise<string> {
  const token = createToken();
  await executor.query('insert into user_links (token_hash, user_id, expires_at) values ($1, $2, $3)', [
    hashToken(token),
    userId,
    new Date(expiresMs),
  ]);
  return token;
}

/** The user of a link; `user` null: it creates the first operator. null: used, expired or unknown. */
export async function findLink(
  executor: Executor,
  token: string,
  nowMs: number,
): Promise<{ user: User | null } | null> {
  const { rows } = await executor.query<UserRow & { link_user: number | null }>(
    `select l.user_id as link_user, ${userColumns} from user_links l left join users u on u.id = l.user_id
    where l.token_hash = $1 and l.expires_at > $2 and u.disabled is not true`,
    [hashToken(token), new Date(nowMs)],
  );
  const [row] = rows;
  if (row === undefined) return null;
  return { user: row.link_user === null ? null : userOf(row) };
}

/**
 * Deletes a link and all others of the same user.
 * @returns whether it was still valid: of concurrent uses one succeeds
 */
export async function consumeLink(executor: Executor, token: string, nowMs: number): Promise<boolean> {
  const { rows } = await executor.query<{ user_id: number | null }>(
    'delete from user_links where token_hash = $1 and expires_at > $2 returning user_id',
    [hashToken(token), new Date(nowMs)],
  );
  if (rows[0] === undefined) return false;
  await executor.query('delete from user_links where user_id is not distinct from $1', [rows[0].user_id]);
  return true;
}
