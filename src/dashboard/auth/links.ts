import type { Executor } from '../../platform/db/pool.ts';
import { createToken, hashToken } from './tokens.ts';
import { type User, type UserRow, userColumns, userOf } from './users.ts';

/** How long an invitation is good (milliseconds); the first operator's link, a day. */
const invitationMs = 7 * 86_400_000;
const firstOperatorMs = 86_400_000;

/** Where one-time links lead; the token follows. */
export const linkPath = '/dashboard/start/';

/** A link with which this user chooses a password; earlier ones stop working. @returns its token, shown this once */
export async function createInvitation(executor: Executor, userId: number, nowMs: number): Promise<string> {
  await executor.query('delete from user_links where user_id = $1', [userId]);
  return insert(executor, userId, nowMs + invitationMs);
}

/** A link with which whoever holds it becomes the first operator. */
export const createFirstOperatorLink = (executor: Executor, nowMs: number): Promise<string> =>
  insert(executor, null, nowMs + firstOperatorMs);

async function insert(executor: Executor, userId: number | null, expiresMs: number): Promise<string> {
  const token = createToken();
  await executor.query('insert into user_links (token_hash, user_id, expires_at) values ($1, $2, $3)', [
    hashToken(token),
    userId,
    new Date(expiresMs),
  ]);
  return token;
}

/** Whom a link is for; `user` null: the first operator. null: it was used, has expired or never was. */
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
 * Uses a link up, and with it all others of the same user. @returns whether it was still good: of parallel uses one
 * wins
 */
export async function useLink(executor: Executor, token: string, nowMs: number): Promise<boolean> {
  const { rows } = await executor.query<{ user_id: number | null }>(
    'delete from user_links where token_hash = $1 and expires_at > $2 returning user_id',
    [hashToken(token), new Date(nowMs)],
  );
  if (rows[0] === undefined) return false;
  await executor.query('delete from user_links where user_id is not distinct from $1', [rows[0].user_id]);
  return true;
}
