import type {
  EraseBeforeSessions,
  EraseOfUser,
  EraseWithSessions,
  ExportRows,
  FindSessions,
} from '../platform/user-data.ts';

/**
 * All modules' steps for erasures and exports. Each list runs in order, which is also the order in which rows are
 * locked.
 */
export type UserDataSteps = {
  findSessions: FindSessions;
  eraseBeforeSessions: readonly EraseBeforeSessions[];
  /** Clears the sessions themselves. These steps run first in their transaction. */
  eraseSessions: EraseWithSessions;
  eraseWithSessions: readonly EraseWithSessions[];
  /** Steps that run after all sessions are cleared. */
  eraseOfUser: readonly EraseOfUser[];
  /** Export functions by field name in the response. */
  exports: Readonly<Record<string, ExportRows>>;
};
