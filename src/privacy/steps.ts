import type {
  EraseBeforeSessions,
  EraseOfUser,
  EraseWithSessions,
  ExportRows,
  FindSessions,
} from '../platform/user-data.ts';

/** The modules' parts of erasures and exports. Each list runs in order, which is also the order of row locks. */
export type UserDataSteps = {
  findSessions: FindSessions;
  eraseBeforeSessions: readonly EraseBeforeSessions[];
  /** Empties the sessions themselves; runs first in its transaction. */
  eraseSessions: EraseWithSessions;
  eraseWithSessions: readonly EraseWithSessions[];
  /** Runs after all sessions are emptied. */
  eraseOfUser: readonly EraseOfUser[];
  /** Exports by field of the response. */
  exports: Readonly<Record<string, ExportRows>>;
};
