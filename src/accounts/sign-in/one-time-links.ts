import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, hourMs } from '../../platform/lib/time.ts';
import { createToken, hashToken } from '../../platform/security/random-token.ts';
import type { User } from '../../shell/context.ts';
import { joinMembership, type UserRow, userColumns, userOf } from '../users.ts';

/** Lifetimes of one-time links, in milliseconds. */
export const invitationLifetimeMs = 7 * dayMs;
export const resetLifetimeMs = hourMs;
const firstOperatorLifetimeMs = dayMs;

/** Path prefix of one-time links, followed by the token. */
export const linkPath = '/dashboard/start/';

/**
 * Creates an invitation link, which replaces earlier ones. Users who can already sign in accept the invitation. All
 * others set a password.
 * @returns the link token, which is not stored
 */
export async function createInvitation(
  executor: Executor,
  { id, membershipId }: { id: number; membershipId: number },
  nowMs: number,
): Promise<string> {
  await executor.query('delete from user_links where membership_id = $1', [membershipId]);
  return insert(executor, { userId: id, membershipId }, nowMs + invitationLifetimeMs);
}

/**
 * Creates a short-lived link for setting a new password. Earlier links stay valid, so that someone else's requests
 * cannot invalidate the user's own link.
 */
export async function createPasswordReset(executor: Executor, userId: number, nowMs: number): Promise<string> {
  await executor.query('delete from user_links where user_id = $1 and expires_at < $2', [userId, new Date(nowMs)]);
  return insert(executor, { userId, membershipId: null }, nowMs + resetLifetimeMs);
}

/** Deletes a user's password reset links. Invitation links are retained. */
export async function deletePasswordResets(executor: Executor, userId: number): Promise<void> {
  await executor.query('delete from user_links where user_id = $1 and membership_id is null', [userId]);
}

export async function deleteLinksOf(executor: Executor, userId: number): Promise<void> {
  await executor.query('delete from user_links where user_id = $1', [userId]);
}

/** Creates the link for creating the first operator. */
export const createFirstOperatorLink = (executor: Executor, nowMs: number): Promise<string> =>
  insert(executor, { userId: null, membershipId: null }, nowMs + firstOperatorLifetimeMs);

type Target = { userId: number | null; membershipId: number | null };

async function insert(executor: Executor, { userId, membershipId }: Target, expiresMs: number): Promise<string> {
  const token = createToken();
  await executor.query(
    'insert into user_links (token_hash, user_id, membership_id, expires_at) values ($1, $2, $3, $4)',
    [hashToken(token), userId, membershipId, new Date(expiresMs)],
  );
  return token;
}

/**
 * One-time link. `user` is null if the link creates the first operator. `invites` is true if the link accepts the
 * user's invitation.
 */
export type Link = { user: User | null; invites: boolean };

/** Returns the link for a token. Returns null if it was used or withdrawn, has expired or is unknown. */
export async function findLink(executor: Executor, token: string, nowMs: number): Promise<Link | null> {
  const { rows } = await executor.query<UserRow & { link_user: number | null; invites: boolean }>(
    `select l.user_id as link_user, l.membership_id is not null as invites, ${userColumns}
    from user_links l left join users u on u.id = l.user_id
    left ${joinMembership('l.membership_id', 'l.membership_id is null or m.id = l.membership_id')}
    where l.token_hash = $1 and l.expires_at > $2 and m.disabled is not true`,
    [hashToken(token), new Date(nowMs)],
  );
  const [row] = rows;
  if (row === undefined) return null;
  return { user: row.link_user === null ? null : userOf(row), invites: row.invites };
}

/**
 * Deletes a link. If it is a password reset link, the user's other reset links are deleted too.
 * @returns whether the link was still valid; only one of several concurrent calls succeeds
 */
export async function consumeLink(executor: Executor, token: string, nowMs: number): Promise<boolean> {
  const { rows } = await executor.query<{ user_id: number | null; membership_id: number | null }>(
    'delete from user_links where token_hash = $1 and expires_at > $2 returning user_id, membership_id',
    [hashToken(token), new Date(nowMs)],
  );
  if (rows[0] === undefined) return false;
  await executor.query('delete from user_links where user_id is not distinct from $1 and membership_id is null', [
    rows[0].user_id,
  ]);
  return true;
}
