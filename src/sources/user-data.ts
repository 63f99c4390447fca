import type { EraseBeforeSessions, EraseOfUser, ExportRows } from '../platform/user-data.ts';
import { eraseEvents } from './events.ts';

/** What sources tell after the first sweep is of a new user. */
export const eraseEventsOfUser: EraseOfUser = async (pool, { subject, isSecond }) => {
  if (!isSecond) await eraseEvents(pool, subject.userKeys);
};

/** The same of the users that its sessions name. */
export const eraseEventsOfSessions: EraseBeforeSessions = async (pool, sessions, { isSecond }) => {
  if (!isSecond) await eraseEvents(pool, [...new Set(sessions.flatMap(({ pubUserKeys }) => pubUserKeys))]);
};

/** Events that named the user. */
export const exportEvents: ExportRows = async (executor, { pubUserKeys }) => {
  const { rows } = await executor.query(
    `select message_id, type, name, result, received_at from source_events
    where user_key = any($1::uuid[]) order by received_at`,
    [pubUserKeys],
  );
  return rows;
};
