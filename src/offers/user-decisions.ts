import type { Executor } from '../platform/db/pool.ts';

/** An entry in the list of a user's sessions. */
export type UserDecision = {
  sessionId: string;
  at: Date;
  placement: string;
  userKey: string | null;
  offerIds: readonly number[];
  /** Whether the decision of the session is stored. */
  isStored: boolean;
};

/**
 * Returns a user's latest sessions, newest first. Sessions are found by any of the user's keys and by `pub_user_id`.
 */
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
    select id as "sessionId", created_at as at, placement, user_key as "userKey", offer_ids as "offerIds",
      decision is not null as "isStored"
    from sessions where publisher_id = $1 and ${condition} order by day desc, id desc limit $4
  )`;
  const { rows } = await executor.query<UserDecision>(
    `${newest('user_key = any($2::uuid[])')} union ${newest('pub_user_id = $3')}
    order by "sessionId" desc limit $4`,
    [publisherId, userKeys, identifier, limit],
  );
  return rows;
}
