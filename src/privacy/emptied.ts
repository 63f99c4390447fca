import { plainArray } from '../platform/db/array-literal.ts';
import type { Executor } from '../platform/db/pool.ts';
import type { Subject } from './traces.ts';

/** A session that an erasure empties, and what leads to whatever was written because of it. */
export type Emptied = {
  day: string;
  id: string;
  /** Whose history it added to. */
  userKey: string | null;
  /** Whose wallet offers of it were saved to. */
  walletKey: string | null;
};

type Of = { erasureId: string; subject: Pick<Subject, 'userKey'> };

/** Remembers sessions until the second sweep. */
export async function noteEmptied(
  executor: Executor,
  { erasureId, subject }: Of,
  sessions: readonly Emptied[],
): Promise<void> {
  await executor.query(
    `insert into erased_sessions (user_key, erasure_id, day, session_id, session_user_key, wallet_key)
    select $1, $2, * from unnest($3::date[], $4::uuid[], $5::uuid[], $6::uuid[])
    on conflict do nothing`,
    [
      subject.userKey,
      erasureId,
      plainArray(sessions.map(({ day }) => day)),
      plainArray(sessions.map(({ id }) => id)),
      plainArray(sessions.map(({ userKey }) => userKey)),
      plainArray(sessions.map(({ walletKey }) => walletKey)),
    ],
  );
}

/** The sessions that the first sweep emptied, in the order of their ids, after one (null: from the first on). */
export async function findEmptied(
  executor: Executor,
  { erasureId, subject }: Of,
  after: string | null,
  limit: number,
): Promise<Emptied[]> {
  const { rows } = await executor.query<Emptied>(
    `select day::text, session_id as id, session_user_key as "userKey", wallet_key as "walletKey" from erased_sessions
    where user_key = $1 and erasure_id = $2 and ($3::uuid is null or session_id > $3) order by session_id limit $4`,
    [subject.userKey, erasureId, after, limit],
  );
  return rows;
}
