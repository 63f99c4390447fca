import type pg from 'pg';
import { type Executor, transaction } from '../platform/db/pool.ts';
import { lockHistories } from './history/history.ts';

/** Publisher's user whose user key has changed (docs/operations.md#rotating-the-user-pepper). */
export type MovedUser = { publisherId: number; userKey: string; earlierKeys: readonly string[] };

/* If both rows contain an opt-out from the same campaign, the one in the current row is newer and is kept. */
const mergeSql = `
update user_history present set
  opt_outs = earlier.opt_outs || present.opt_outs,
  exposures = earlier.exposures || present.exposures,
  updated_at = greatest(present.updated_at, earlier.updated_at),
  earlier_key = earlier.user_key
from unnest($1::uuid[], $2::uuid[]) as moved (from_key, to_key)
join user_history earlier on earlier.user_key = moved.from_key
where present.user_key = moved.to_key`;

/** Moves histories that are still stored under earlier user keys to the current keys. */
export async function moveHistories(pool: pg.Pool, users: readonly MovedUser[], nowMs: number): Promise<void> {
  const froms = users.flatMap(({ earlierKeys }) => earlierKeys);
  const { rows } = await pool.query<{ user_key: string }>({
    name: 'find_earlier_histories',
    text: 'select user_key from user_history where user_key = any($1::uuid[])',
    values: [froms],
  });
  const storedKeys = new Set(rows.map(({ user_key }) => user_key));
  for (const user of users) {
    for (const from of user.earlierKeys) {
      if (!storedKeys.delete(from)) continue;
      await transaction(pool, (executor) => moveOne(executor, { ...user, from }, nowMs));
    }
  }
}

/** Moves one history. Both rows are locked in key order, as in all other statements, to avoid deadlocks. */
async function moveOne(
  executor: Executor,
  { publisherId, userKey, from }: MovedUser & { from: string },
  nowMs: number,
): Promise<void> {
  const both = [from, userKey].map((key): [string, number] => [key, publisherId]);
  await lockHistories(executor, new Map(both), { nowMs, storedUntilMs: nowMs });
  await executor.query(mergeSql, [[from], [userKey]]);
  await executor.query('delete from user_history where user_key = $1', [from]);
}

/**
 * Returns the current key of a user whose history was moved from an earlier key, or null if the user has not been seen
 * since the rotation.
 */
export async function findMovedKey(executor: Executor, earlierKey: string): Promise<string | null> {
  const { rows } = await executor.query<{ user_key: string }>(
    'select user_key from user_history where earlier_key = $1',
    [earlierKey],
  );
  return rows[0]?.user_key ?? null;
}

/** Counts histories by the pepper from which their user keys were derived (`pepperMark`). */
export async function countHistoriesByMark(executor: Executor): Promise<Map<string, number>> {
  const { rows } = await executor.query<{ mark: string; count: number }>(
    'select left(user_key::text, 4) as mark, count(*)::int as count from user_history group by 1',
  );
  return new Map(rows.map(({ mark, count }) => [mark, count]));
}
