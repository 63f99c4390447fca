import { AppError } from '../../platform/errors.ts';
import { dayOf } from '../../platform/lib/time.ts';
import { isPossibleUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import { problem } from '../../platform/problem.ts';
import { createUserKeys } from '../../platform/security/user-key.ts';
import { deletedParts, readStory, type Story } from './read.ts';
import { createResolve, type Resolve, type ResolveDeps } from './resolve.ts';

/** Finds sessions by any ID and reads their stories. */
export type FindStory = {
  resolve: Resolve;
  /** Reads the story of a session. Returns null if the publisher has no row of it. */
  read: (publisherId: number, sessionId: string) => Promise<Story | null>;
  /**
   * Error for an ID that matches nothing. For the ID of an old session, it names the retention period. It depends only
   * on the text of the ID, so it does not reveal whether another publisher has such a session.
   */
  missing: (id: string) => AppError;
};

export function createFindStory(deps: ResolveDeps): FindStory {
  const { pool, config, clickIds, now } = deps;
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  return {
    resolve: createResolve(deps),
    read: (publisherId, sessionId) => readStory(pool, { publisherId, sessionId, userKeys }),
    missing: (text) => {
      const id = clickIds.read(text.trim())?.sessionId ?? text.trim().toLowerCase();
      if (!isPossibleUuid7(id, now()) || !deletedParts(id, config, now()).rows)
        return new AppError('session_not_found');
      const day = dayOf(timeOfUuid7(id));
      return new AppError('session_not_found', {
        message: problem('sessionDeleted', { days: config.retentionRawDays, day }),
      });
    },
  };
}
