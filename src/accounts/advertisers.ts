import type { Executor } from '../platform/db/pool.ts';
import type { ViewedAdvertiser } from '../shell/context.ts';

/** Finds an advertiser that can have accounts. Returns null if the advertiser does not exist or was removed. */
export async function findAdvertiser(executor: Executor, id: number): Promise<ViewedAdvertiser | null> {
  const { rows } = await executor.query<ViewedAdvertiser>(
    'select id, name, publisher_id as "publisherId" from advertisers where id = $1 and deleted_at is null',
    [id],
  );
  return rows[0] ?? null;
}
