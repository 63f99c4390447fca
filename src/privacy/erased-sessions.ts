import type { Executor } from '../platform/db/pool.ts';
import type { ErasedSession } from '../platform/user-data.ts';

type Erasure = { erasureId: string; subject: { userKey: string } };

/** Records the sessions that the first sweep cleared, for use in the second sweep. */
export async function insertErasedSessions(
  executor: Executor,
  { erasureId, subject }: Erasure,
  sessions: readonly ErasedSession[],
): Promise<void> {
  await executor.query(
    `insert into erased_sessions (user_key, erasure_id, day, session_id, session_user_key, pub_user_key)
    select $1, $2, * from unnest($3::date[], $4::uuid[], $5::uuid[], $6::uuid[])
    on conflict do nothing`,
    [
      subject.userKey,
      erasureId,
      sessions.map(({ day }) => day),
      sessions.map(({ id }) => id),
      sessions.map(({ userKey }) => userKey),
      sessions.map(({ pubUserKeys }) => pubUserKeys[0] ?? null),
    ],
  );
}

/**
 * Returns sessions that the first sweep cleared, ordered by ID. Starts after the given ID, or at the first session if
 * it is null.
 */
export async function findErasedSessions(
  executor: Executor,
  { erasureId, subject }: Erasure,
  after: string | null,
  limit: number,
): Promise<ErasedSession[]> {
  const { rows } = await executor.query<ErasedSession>(
    `select day::text, session_id as id, session_user_key as "userKey",
      array_remove(array[pub_user_key], null) as "pubUserKeys"
    from erased_sessions
    where user_key = $1 and erasure_id = $2 and ($3::uuid is null or session_id > $3)
    order by session_id limit $4`,
    [subject.userKey, erasureId, after, limit],
  );
  return rows;
}
