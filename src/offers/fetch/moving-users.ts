import { findMovedKey, type MovedUser, moveHistories } from '../../budgets/move-histories.ts';
import { createBatcher } from '../../platform/db/batcher.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import type { PendingFetch } from './pending-fetch.ts';
import type { BatchDeps } from './profiles.ts';

/** Moves the user of a fetch to the current user key before the decision. Needed during a rotation of USER_PEPPER. */
export type MovingUsers = {
  /**
   * Moves the user of a fetch to the current key. Returns the fetch with that key, or null if the user need not be
   * moved.
   */
  move: (pending: PendingFetch) => Promise<PendingFetch> | null;
  drain: () => Promise<void>;
};

type MovingDeps = BatchDeps & { userKeys: UserKeys };

export function createMovingUsers({ pool, dbHealth, now, batchMeters, userKeys }: MovingDeps): MovingUsers {
  const batcher = createBatcher<MovedUser, void>({
    write: async (users) => {
      await moveHistories(pool, users, now());
      return users.map(() => undefined);
    },
    dbHealth,
    maxConcurrentBatches: 4,
    meter: batchMeters('user_moves'),
  });
  return {
    move: (pending) => {
      const { userKey, earlierKeys, publisher, dev } = pending;
      if (userKey === null || dev) return null;
      if (earlierKeys.length > 0)
        return batcher.add({ publisherId: publisher.id, userKey, earlierKeys }).then(() => pending);
      // A link identifies its user by the key that its session stored, which may be under an earlier pepper.
      if (!userKeys.isEarlier(userKey)) return null;
      return findMovedKey(pool, userKey).then((key) => (key === null ? pending : { ...pending, userKey: key }));
    },
    drain: batcher.drain,
  };
}
