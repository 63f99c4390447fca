import type { EraseOfUser, EraseWithSessions, ExportRows } from '../platform/user-data.ts';

/** Deletes what the publisher has told of the user. */
export const eraseProfileOfUser: EraseOfUser = async (pool, { subject, isSecond }) => {
  if (!isSecond) await pool.query('delete from user_attributes where user_key = any($1::uuid[])', [subject.userKeys]);
};

/** The same of the users that its sessions name. */
export const eraseProfilesOfSessions: EraseWithSessions = async (executor, sessions, { isSecond }) => {
  if (isSecond) return {};
  const userKeys = [...new Set(sessions.flatMap(({ pubUserKeys }) => pubUserKeys))];
  await executor.query(
    `delete from user_attributes where user_key = any(array(
      select user_key from user_attributes where user_key = any($1::uuid[]) order by user_key for update))`,
    [userKeys],
  );
  return {};
};

/** Attributes of the user. */
export const exportAttributes: ExportRows = async (executor, { pubUserKeys }) => {
  const { rows } = await executor.query(
    'select attributes, expires_at, updated_at from user_attributes where user_key = any($1::uuid[])',
    [pubUserKeys],
  );
  return rows;
};
