import type { Executor } from '../platform/db/pool.ts';
import type {
  EraseBeforeSessions,
  EraseOfUser,
  EraseWithSessions,
  ExportRows,
  UserSession,
  UserSubject,
} from '../platform/user-data.ts';

/** Every room's part in erasures and exports. Each list runs in its order, which is also the order of row locks. */
export type UserDataSteps = {
  /** Sessions of a user that began until a time, at most `limit`; sessions that were erased are not found again. */
  findSessions: (executor: Executor, subject: UserSubject, until: Date, limit: number) => Promise<UserSession[]>;
  eraseBeforeSessions: readonly EraseBeforeSessions[];
  /** Empties the sessions themselves; runs first in its transaction. */
  eraseSessions: EraseWithSessions;
  eraseWithSessions: readonly EraseWithSessions[];
  /** Runs after all sessions are emptied. */
  eraseOfUser: readonly EraseOfUser[];
  /** By the field of the export's answer. */
  exports: Readonly<Record<string, ExportRows>>;
};
