import type pg from 'pg';
import type { Replica } from '../../platform/db/replica.ts';
import { AppError } from '../../platform/errors.ts';
import { dayOf, hourMs } from '../../platform/lib/time.ts';
import { isPossibleUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import { problem } from '../../platform/problem.ts';
import { createUserKeys } from '../../platform/security/user-key.ts';
import { deletedParts, readStory, type Story } from './read.ts';
import { createResolve, type Match, type ResolveDeps } from './resolve.ts';

/** Finds sessions by any ID and reads their stories. */
export type FindStory = {
  /** Finds the sessions of a publisher to which an ID belongs. */
  resolve: (publisherId: number, id: string) => Promise<Match[]>;
  /**
   * Reads the story of a session. Returns null if the publisher has no rows about it. `asOf` is the time up to which
   * the story is complete if it was read from a replica, or null if it was read from the primary.
   */
  read: (publisherId: number, sessionId: string) => Promise<(Story & { asOf: Date | null }) | null>;
  /**
   * Error for an ID that matches nothing. For the ID of an old session, it names the retention period. It depends only
   * on the text of the ID, so it does not reveal whether another publisher has such a session.
   */
  missing: (id: string) => AppError;
};

/** Age below which a session is read from the primary, because developers look for the latest events of their tests. */
const freshMs = hourMs;

type FindStoryDeps = ResolveDeps & { pool: pg.Pool; replica: Replica | null };

export function createFindStory(deps: FindStoryDeps): FindStory {
  const { pool, replica, config, clickIds, now } = deps;
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  const resolve = createResolve(deps);

  /**
   * Reads from the replica. If the replica does not have the record, reads from the primary, because the record may
   * just have been written.
   */
  async function readEither<T>(
    read: (from: pg.Pool) => Promise<T>,
    isFound: (result: T) => boolean,
  ): Promise<{ result: T; asOf: Date | null }> {
    if (replica === null) return { result: await read(pool), asOf: null };
    const { asOfMs } = replica.state();
    let isPrimary = false;
    const result = await replica.read((from) => {
      isPrimary = from === pool;
      return read(from);
    });
    if (!isPrimary && isFound(result)) return { result, asOf: asOfMs === null ? null : new Date(asOfMs) };
    return { result: isPrimary ? result : await read(pool), asOf: null };
  }

  return {
    resolve: async (publisherId, id) => {
      const { result } = await readEither(
        (from) => resolve(from, publisherId, id),
        (matches) => matches.length > 0,
      );
      return result;
    },
    read: async (publisherId, sessionId) => {
      const read = (from: pg.Pool): Promise<Story | null> => readStory(from, { publisherId, sessionId, userKeys });
      const isFresh = timeOfUuid7(sessionId) > now() - freshMs;
      const { result, asOf } = isFresh
        ? { result: await read(pool), asOf: null }
        : await readEither(read, (story) => story !== null);
      return result && { ...result, asOf };
    },
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
