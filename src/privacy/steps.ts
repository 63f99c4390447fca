import type {
  EraseBeforeSessions,
  EraseOfUser,
  EraseWithSessions,
  ExportRows,
  FindSessions,
} from '../platform/user-data.ts';

/** Every module's part in erasures and exports. Each list runs in its order, which is also the order of row locks. */
export type UserDataSteps = {
  findSessions: FindSessions;
  eraseBeforeSessions: readonly EraseBeforeSessions[];
  /** Empties the sessions themselves; runs first in its transaction. */
  eraseSessions: EraseWithSessions;
  eraseWithSessions: readonly EraseWithSessions[];
  /** Runs after all sessions are emptied. */
  eraseOfUser: readonly EraseOfUser[];
  /** By the field of the export's answer. */
  exports: Readonly<Record<string, ExportRows>>;
};
