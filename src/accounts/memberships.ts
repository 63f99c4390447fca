import type { Executor } from '../platform/db/pool.ts';
import type { MemberRole, User } from '../shell/context.ts';
import { storedRole } from './roles.ts';
import { type UserRow, userColumns, userOf } from './users.ts';

/** Returns an SQL condition for whether a user may open a publisher's pages. */
export const mayOpen = (userId: string, publisherId: string): string => `exists (
  select from memberships m where m.user_id = ${userId} and m.joined_at is not null and not m.disabled
    and (m.role = 'operator' or m.publisher_id = ${publisherId}))`;

/** SQL that selects the admins of publishers, as `publisher_id` and `user_id`. */
export const adminsOf = (publisherIds: string): string => `
  select m.publisher_id, m.user_id from memberships m
  where m.publisher_id = any(${publisherIds}) and m.role = 'admin' and m.joined_at is not null and not m.disabled`;

type Members = { publisherId: number | null; advertiserId: number | null };

/**
 * Lists the members of a publisher or an advertiser, or the operators if both are null. The list is sorted by e-mail
 * address.
 * @param asked `q` filters by part of the address; `after` is the last address of the previous page
 */
export async function listMembers(
  executor: Executor,
  { publisherId, advertiserId }: Members,
  { q, after, limit }: { q: string; after: string; limit: number },
): Promise<User[]> {
  const { rows } = await executor.query<UserRow>(
    `select ${userColumns} from memberships m join users u on u.id = m.user_id
    where m.publisher_id is not distinct from $1 and m.advertiser_id is not distinct from $2
      and strpos(u.email, $3) > 0 and u.email > $4
    order by u.email limit $5`,
    [publisherId, advertiserId, q.toLowerCase(), after, limit],
  );
  return rows.map(userOf);
}

/** Lists a user's memberships and invitations. Memberships are in the order in which the user joined. */
export async function listMemberships(executor: Executor, userId: number): Promise<User[]> {
  const { rows } = await executor.query<UserRow>(
    `select ${userColumns} from memberships m join users u on u.id = m.user_id where u.id = $1
    order by m.joined_at, m.id`,
    [userId],
  );
  return rows.map(userOf);
}

/**
 * Stores which membership's pages the session opens by default.
 * @returns the user with this membership, or null if the user is not a member or is disabled there
 */
export async function chooseMembership(
  executor: Executor,
  sessionId: string,
  { publisherId = null, advertiserId = null }: { publisherId?: number | null; advertiserId?: number | null },
): Promise<User | null> {
  const { rows } = await executor.query<UserRow>(
    `with chosen as (
      update user_sessions s set membership_id = m.id from memberships m
      where s.id = $1 and m.user_id = s.user_id and (m.publisher_id = $2 or m.advertiser_id = $3)
        and m.joined_at is not null and not m.disabled
      returning m.id
    )
    select ${userColumns} from chosen join memberships m on m.id = chosen.id join users u on u.id = m.user_id`,
    [sessionId, publisherId, advertiserId],
  );
  return rows[0] === undefined ? null : userOf(rows[0]);
}

/**
 * Accepts an invitation.
 * @returns false if it was already accepted, declined or withdrawn
 */
export async function join(executor: Executor, membershipId: number, nowMs: number): Promise<boolean> {
  const { rowCount } = await executor.query(
    'update memberships set joined_at = $2 where id = $1 and joined_at is null and not disabled',
    [membershipId, new Date(nowMs)],
  );
  return rowCount === 1;
}

/**
 * Changes the role and state of a member. If the user has no access left, also ends their sessions and deletes their
 * password links.
 */
export async function changeMember(
  executor: Executor,
  { membershipId, id: userId }: { membershipId: number; id: number },
  { role, disabled }: { role: MemberRole; disabled: boolean },
): Promise<void> {
  await executor.query('update memberships set disabled = $2, role = $3, custom_role_id = $4 where id = $1', [
    membershipId,
    disabled,
    ...storedRole(role),
  ]);
  if (disabled) {
    await executor.query('delete from user_links where membership_id = $1', [membershipId]);
    await endAccess(executor, userId);
  }
}

/**
 * Removes a member or an invitation. A user without memberships can no longer sign in. If they have no invitations left
 * either, the user is deleted.
 */
export async function removeMember(
  executor: Executor,
  { membershipId, id: userId }: { membershipId: number; id: number },
): Promise<void> {
  await executor.query('delete from memberships where id = $1', [membershipId]);
  await endAccess(executor, userId);
  await executor.query('delete from users where id = $1 and not exists (select from memberships where user_id = $1)', [
    userId,
  ]);
  await executor.query(
    `with ended as (
      update users set password_hash = null, oidc_issuer = null, oidc_subject = null, totp_sealed = null,
        totp_last_step = null
      where id = $1 and not exists (select from memberships where user_id = $1 and joined_at is not null) returning id
    ), keys as (delete from user_passkeys k using ended where k.user_id = ended.id)
    delete from user_recovery_codes c using ended where c.user_id = ended.id`,
    [userId],
  );
}

/** Ends the sessions and deletes the password links of a user who has no access left. */
async function endAccess(executor: Executor, userId: number): Promise<void> {
  const opensNothing = `not exists (
    select from memberships where user_id = $1 and joined_at is not null and not disabled)`;
  await executor.query(`delete from user_sessions where user_id = $1 and ${opensNothing}`, [userId]);
  await executor.query(`delete from user_links where user_id = $1 and membership_id is null and ${opensNothing}`, [
    userId,
  ]);
}

/**
 * Returns whether a user is the last admin of a publisher, or the last operator if the publisher is null. Locks the
 * admins, so that two admins who remove each other at the same time cannot both succeed.
 */
export async function isLastAdmin(
  executor: Executor,
  { publisherId, membershipId }: { publisherId: number | null; membershipId: number },
): Promise<boolean> {
  const { rows } = await executor.query<{ id: number }>(
    `select m.id from memberships m where m.publisher_id is not distinct from $1 and m.role in ('admin', 'operator')
      and m.joined_at is not null and not m.disabled order by m.id for update`,
    [publisherId],
  );
  return rows.length === 1 && rows[0]?.id === membershipId;
}

/**
 * Returns whether a user has access to another publisher. If so, this publisher's admins must not be able to change the
 * user's sign-in.
 */
export async function belongsElsewhere(
  executor: Executor,
  { id, membershipId }: { id: number; membershipId: number },
): Promise<boolean> {
  const { rowCount } = await executor.query(
    'select from memberships where user_id = $1 and id <> $2 and joined_at is not null limit 1',
    [id, membershipId],
  );
  return rowCount !== 0;
}
