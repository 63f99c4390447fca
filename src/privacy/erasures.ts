import type { Executor } from '../db/pool.ts';

/** What the publisher named the user by. */
export const identifiers = ['pub_user_id', 'ad_fp'] as const;
export type Identifier = (typeof identifiers)[number];

/** What an erasure removed or emptied (counts of rows). */
export type ErasureCounts = { sessions: number; deliveries: number; wallet_items: number; histories: number };

/** A request to erase a user, and how far it has come. */
export type Erasure = {
  id: string;
  publisherId: number;
  userKey: string;
  namedBy: Identifier;
  requestedAt: Date;
  /** null: the first sweep is still to come, or under way. */
  sweptAt: Date | null;
  finishedAt: Date | null;
  counts: Partial<ErasureCounts>;
};

/** An erasure under lease, with the sealed identifier. */
export type ClaimedErasure = Erasure & { subjectSealed: Buffer };

type Row = {
  id: string;
  publisher_id: number;
  user_key: string;
  named_by: Identifier;
  subject_sealed: Buffer | null;
  requested_at: Date;
  swept_at: Date | null;
  finished_at: Date | null;
  counts: Partial<ErasureCounts>;
};

const columns = 'id, publisher_id, user_key, named_by, requested_at, swept_at, finished_at, counts';

const erasureOf = (row: Row): Erasure => ({
  id: row.id,
  publisherId: row.publisher_id,
  userKey: row.user_key,
  namedBy: row.named_by,
  requestedAt: row.requested_at,
  sweptAt: row.swept_at,
  finishedAt: row.finished_at,
  counts: row.counts,
});

export type NewErasure = Pick<Erasure, 'id' | 'publisherId' | 'userKey' | 'namedBy' | 'requestedAt'> & { subjectSealed: Buffer };

export async function insertErasure(executor: Executor, erasure: NewErasure): Promise<Erasure> {
  const { id, publisherId, userKey, namedBy, requestedAt, subjectSealed } = erasure;
  const { rows } = await executor.query<Row>(
    `insert into erasures (id, publisher_id, user_key, named_by, requested_at, subject_sealed) values ($1, $2, $3, $4, $5, $6) returning ${columns}`,
    [id, publisherId, userKey, namedBy, requestedAt, subjectSealed],
  );
  return erasureOf(rows[0] as Row);
}

/** A publisher's erasure, or null. */
export async function findErasure(executor: Executor, publisherId: number, id: string): Promise<Erasure | null> {
  const { rows } = await executor.query<Row>(`select ${columns} from erasures where publisher_id = $1 and id = $2`, [publisherId, id]);
  return rows[0] === undefined ? null : erasureOf(rows[0]);
}

/** A worker that stops renewing its lease is taken for dead after this long (milliseconds). */
const leaseMs = 15_000;

/**
 * The second sweep comes this long after the first (milliseconds): by then whatever read the user before it has ended, for
 * no statement runs longer than ten seconds.
 */
export const secondSweepMs = 25_000;

/** Leases the oldest erasure that has something to do; null when there is none. */
export async function claimErasure(executor: Executor, nowMs: number): Promise<ClaimedErasure | null> {
  const { rows } = await executor.query<Row>(
    `update erasures set lease_until = $2
    where (user_key, id) = (
      select user_key, id from erasures
      where finished_at is null and (lease_until is null or lease_until < $1) and (swept_at is null or swept_at <= $3)
      order by requested_at limit 1 for update skip locked
    ) returning ${columns}, subject_sealed`,
    [new Date(nowMs), new Date(nowMs + leaseMs), new Date(nowMs - secondSweepMs)],
  );
  const [row] = rows;
  return row === undefined ? null : { ...erasureOf(row), subjectSealed: row.subject_sealed as Buffer };
}

/** Keeps the lease, and adds to the counts. */
export async function renewErasure(
  executor: Executor,
  { userKey, id }: Erasure,
  counts: Partial<ErasureCounts>,
  nowMs: number,
): Promise<void> {
  await executor.query('update erasures set lease_until = $3, counts = $4 where user_key = $1 and id = $2', [
    userKey,
    id,
    new Date(nowMs + leaseMs),
    counts,
  ]);
}

/** Notes the end of a sweep. After the second one, nothing names the user any more but the keyed hash. */
export async function endSweep(executor: Executor, { userKey, id, sweptAt }: Erasure, nowMs: number): Promise<void> {
  const change = sweptAt === null ? 'swept_at = $3' : 'finished_at = $3, subject_sealed = null';
  await executor.query(`update erasures set ${change}, lease_until = null where user_key = $1 and id = $2`, [userKey, id, new Date(nowMs)]);
}
