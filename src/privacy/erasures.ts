import type { Executor } from '../platform/db/pool.ts';

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

export type NewErasure = Pick<Erasure, 'id' | 'publisherId' | 'userKey' | 'namedBy' | 'requestedAt'> & {
  subjectSealed: Buffer;
};

export async function insertErasure(executor: Executor, erasure: NewErasure): Promise<Erasure> {
  const { id, publisherId, userKey, namedBy, requestedAt, subjectSealed } = erasure;
  const { rows } = await executor.query<Row>(
    `insert into erasures (id, publisher_id, user_key, named_by, requested_at, due_at, subject_sealed) values ($1, $2, $3, $4, $5, $5, $6) returning ${columns}`,
    [id, publisherId, userKey, namedBy, requestedAt, subjectSealed],
  );
  return erasureOf(rows[0] as Row);
}

/** A publisher's erasure, or null. */
export async function findErasure(executor: Executor, publisherId: number, id: string): Promise<Erasure | null> {
  const { rows } = await executor.query<Row>(`select ${columns} from erasures where publisher_id = $1 and id = $2`, [
    publisherId,
    id,
  ]);
  return rows[0] === undefined ? null : erasureOf(rows[0]);
}

/** A worker that stops renewing its lease is taken for dead after this long (milliseconds). */
const leaseMs = 15_000;

/**
 * The second sweep comes this long after the first (milliseconds): by then whatever read the user before it has ended,
 * for
 * no statement runs longer than ten seconds.
 */
export const secondSweepMs = 25_000;

/*
 * Publishers are found one after the other in the index, each with its oldest erasure that is due. Whoever was served
 * of late
 * has one that is due later: the end of a lease, or the second sweep.
 */
const claimSql = `
with recursive publishers as (
  (select publisher_id from erasures where finished_at is null order by publisher_id limit 1)
  union all
  select (select publisher_id from erasures where finished_at is null and publisher_id > p.publisher_id order by publisher_id limit 1)
  from publishers p where p.publisher_id is not null
), candidates as (
  select oldest.*, greatest($1, (select max(due_at) from erasures where publisher_id = p.publisher_id and finished_at is null)) as served_at
  from publishers p cross join lateral (
    select user_key, id, due_at as waiting_since from erasures
    where publisher_id = p.publisher_id and finished_at is null and due_at <= $1
      and (lease_until is null or lease_until <= $1) and (swept_at is null or swept_at <= $3)
    order by due_at limit 1) oldest
)
update erasures set lease_until = $2, due_at = $2
where (user_key, id) = (
  select e.user_key, e.id from erasures e join candidates c on c.user_key = e.user_key and c.id = e.id
  where e.due_at <= $1 and e.finished_at is null
  order by c.served_at, c.waiting_since limit 1 for update of e skip locked
) returning ${columns}, subject_sealed`;

/**
 * Leases an erasure that has something to do, of the publisher that was not served for longest; null when there is
 * none.
 */
export async function claimErasure(executor: Executor, nowMs: number): Promise<ClaimedErasure | null> {
  const times = [nowMs, nowMs + leaseMs, nowMs - secondSweepMs].map((ms) => new Date(ms));
  const { rows } = await executor.query<Row>({ name: 'claim_erasure', text: claimSql, values: times });
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
  await executor.query(
    'update erasures set lease_until = $3, due_at = $3, counts = $4 where user_key = $1 and id = $2',
    [userKey, id, new Date(nowMs + leaseMs), counts],
  );
}

/**
 * Notes the end of a sweep. After the second one, nothing names the user any more but the keyed hash, and nothing its
 * sessions.
 */
export async function endSweep(executor: Executor, { userKey, id, sweptAt }: Erasure, nowMs: number): Promise<void> {
  const isFirst = sweptAt === null;
  const change = isFirst ? 'swept_at = $3' : 'finished_at = $3, subject_sealed = null';
  const dueMs = isFirst ? nowMs + secondSweepMs : nowMs;
  const forgetting = isFirst
    ? ''
    : 'with forgotten as (delete from erased_sessions where user_key = $1 and erasure_id = $2) ';
  await executor.query(
    `${forgetting}update erasures set ${change}, lease_until = null, due_at = $4 where user_key = $1 and id = $2`,
    [userKey, id, new Date(nowMs), new Date(dueMs)],
  );
}
