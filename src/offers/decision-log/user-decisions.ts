import type { Executor } from '../../platform/db/pool.ts';

/** A session of a user in a list. */
export type UserDecision = {
  sessionId: string;
  at: Date;
  placement: string;
  userKey: string | null;
  offerIds: readonly number[];
  /** Whether its decision is stored. */
  isStored: boolean;
};

/** Returns the newest sessions of a user, found by any of their keys and by `pub_user_id`, newest first. */
export async function findUserDecisions(
  executor: Executor,
  {
    publisherId,
    userKeys,
    identifier,
    limit,
  }: { publisherId: number; userKeys: readonly string[]; identifier: string; limit: number },
): Promise<UserDecision[]> {
  const newest = (condition: string): string => `(
    select id, created_at, placement, user_key, offer_ids, decision is not null as is_stored
    from sessions where publisher_id = $1 and ${condition} order by day desc, id desc limit $4
  )`;
  const { rows } = await executor.query<{
    id: string;
    created_at: Date;
    placement: string;
    user_key: string | null;
    offer_ids: number[];
    is_stored: boolean;
  }>(
    `select * from (${newest('user_key = any($2::uuid[])')} union ${newest('pub_user_id = $3')}) as found
    order by id desc limit $4`,
    [publisherId, userKeys, identifier, limit],
  );
  return rows.map((row) => ({
    sessionId: row.id,
    at: row.created_at,
    placement: row.placement,
    userKey: row.user_key,
    offerIds: row.offer_ids,
    isStored: row.is_stored,
  }));
}
