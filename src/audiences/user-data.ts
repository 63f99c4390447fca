import type pg from 'pg';
import { type Executor, readSlices, transaction } from '../platform/db/pool.ts';
import { type EraseBeforeSessions, type EraseOfUser, type ExportRows, sessionsOf } from '../platform/user-data.ts';
import { removeFollowed, removeMembers } from './members/members.ts';

/**
 * Deletes the attributes and memberships of users. Rows are locked in key order, as in all other statements, to avoid
 * deadlocks.
 * @returns number of memberships
 */
const deleteProfiles = (pool: pg.Pool, userKeys: readonly string[]): Promise<number> =>
  transaction(pool, async (executor) => {
    await executor.query(
      `delete from user_attributes where user_key = any(array(
        select user_key from user_attributes where user_key = any($1::uuid[]) order by user_key for update))`,
      [userKeys],
    );
    await executor.query('delete from audience_facts where user_key = any($1::uuid[])', [userKeys]);
    return removeMembers(executor, null, userKeys);
  });

/**
 * Deletes rows that a concurrent rule update read before the first sweep but inserted after it. These are facts from
 * before the erasure request, and the memberships that depend on these facts.
 */
const deleteFollowed = (pool: pg.Pool, userKeys: readonly string[], until: Date): Promise<void> =>
  transaction(pool, async (executor) => {
    await executor.query('delete from audience_facts where user_key = any($1::uuid[]) and at <= $2', [userKeys, until]);
    await removeFollowed(executor, userKeys, until);
  });

/** Erases a user's profile. Data that the publisher sends after the first sweep is treated as data of a new user. */
export const eraseProfileOfUser: EraseOfUser = async (pool, { subject, isSecond, until }, onErased) => {
  if (isSecond) await deleteFollowed(pool, subject.userKeys, until);
  else await onErased({ memberships: await deleteProfiles(pool, subject.userKeys) });
};

/** Erases the profiles of the users in the given sessions, including users identified by an e-mail address hash. */
export const eraseProfilesOfSessions: EraseBeforeSessions = async (pool, sessions, { isSecond, until }, onErased) => {
  const keys = sessions.flatMap(({ pubUserKeys, userKey }) => [...pubUserKeys, ...(userKey === null ? [] : [userKey])]);
  if (isSecond) return deleteFollowed(pool, [...new Set(keys)], until);
  const emailKeys = await emailKeysOf(
    pool,
    [...new Set(sessions.map(({ day }) => day))],
    sessions.map(({ id }) => id),
  );
  await onErased({ memberships: await deleteProfiles(pool, [...new Set([...keys, ...emailKeys])]) });
};

async function emailKeysOf(
  executor: Executor,
  days: readonly string[],
  sessionIds: readonly string[],
): Promise<string[]> {
  const { rows } = await executor.query<{ key: string }>(
    `select distinct decision::json -> 3 ->> 'emailKey' as key from sessions
    where day = any($1::date[]) and id = any($2::uuid[]) and decision like '%"emailKey"%'`,
    [days, sessionIds],
  );
  return rows.map(({ key }) => key);
}

/** Exports a user's attributes. */
export const exportAttributes: ExportRows = (executor, { pubUserKeys }) =>
  readSlices(
    executor,
    'select attributes, expires_at, updated_at from user_attributes where user_key = any($1::uuid[])',
    [pubUserKeys],
  );

/** Exports a user's audiences. */
export const exportMemberships: ExportRows = async function* (executor, scope) {
  const keys = new Set([...scope.userKeys, ...scope.pubUserKeys]);
  for (const sessions of sessionsOf(scope)) for (const key of await emailKeysOf(executor, ...sessions)) keys.add(key);
  yield* readSlices(
    executor,
    `select a.key as audience, a.name, m.expires_at from audience_members m join audiences a on a.id = m.audience_id
    where m.user_key = any($1::uuid[]) order by a.key`,
    [[...keys]],
  );
};
