import type { Executor } from '../platform/db/pool.ts';
import type { ErasedCounts, IdentifierKind } from '../platform/user-data.ts';

/** Request to erase a user's data, with its progress. */
export type Erasure = {
  id: string;
  publisherId: number;
  userKey: string;
  namedBy: IdentifierKind;
  requestedAt: Date;
  /** Time when the first sweep was completed, or null if it has not been. */
  sweptAt: Date | null;
  /** Time when the second sweep was completed, or null if it has not been. */
  finishedAt: Date | null;
  counts: Partial<ErasedCounts>;
};

/** Erasure that was claimed under a lease, with the user's identifier in sealed form. */
export type ClaimedErasure = Erasure & { subjectSealed: Buffer };

const columns = `id, publisher_id as "publisherId", user_key as "userKey", named_by as "namedBy",
  requested_at as "requestedAt", swept_at as "sweptAt", finished_at as "finishedAt", counts`;

export type NewErasure = {
  id: string;
  publisherId: number;
  userKey: string;
  namedBy: IdentifierKind;
  requestedAt: Date;
  subjectSealed: Buffer;
};

export async function insertErasure(executor: Executor, erasure: NewErasure): Promise<Erasure> {
  const { id, publisherId, userKey, namedBy, requestedAt, subjectSealed } = erasure;
  const { rows } = await executor.query<Erasure>(
    `insert into erasures (id, publisher_id, user_key, named_by, requested_at, due_at, subject_sealed)
    values ($1, $2, $3, $4, $5, $5, $6) returning ${columns}`,
    [id, publisherId, userKey, namedBy, requestedAt, subjectSealed],
  );
  return rows[0] as Erasure;
}

/** Loads a publisher's erasure by ID. Returns null if none exists. */
export async function findErasure(executor: Executor, publisherId: number, id: string): Promise<Erasure | null> {
  const { rows } = await executor.query<Erasure>(
    `select ${columns} from erasures where publisher_id = $1 and id = $2`,
    [publisherId, id],
  );
  return rows[0] ?? null;
}

/**
 * Status of an erasure. `sweeping` means that the first sweep is done and a second one will follow, because of requests
 * that were in flight.
 */
export type ErasureStatus = 'pending' | 'sweeping' | 'done';

export const statusOf = ({ finishedAt, sweptAt }: { finishedAt: Date | null; sweptAt: Date | null }): ErasureStatus =>
  finishedAt !== null ? 'done' : sweptAt !== null ? 'sweeping' : 'pending';

/** Lists a publisher's erasures, newest first. `next` is the upper bound of the next page, or null on the last page. */
export async function listErasures(
  executor: Executor,
  publisherId: number,
  { limit, before }: { limit: number; before: string | null },
): Promise<{ erasures: Erasure[]; next: string | null }> {
  const { rows } = await executor.query<Erasure>(
    `select ${columns} from erasures where publisher_id = $1 and ($2::uuid is null or id < $2)
    order by id desc limit $3`,
    [publisherId, before, limit + 1],
  );
  const erasures = rows.slice(0, limit);
  return { erasures, next: rows.length > limit ? (erasures.at(-1)?.id ?? null) : null };
}

/** Lease duration, in milliseconds. A worker that has not renewed its lease for this long is considered dead. */
const leaseMs = 15_000;

/**
 * Delay between the first and second sweep, in milliseconds. No statement runs longer than ten seconds, so requests
 * that read the user before the first sweep have ended by then.
 */
export const secondSweepMs = 25_000;

/*
 * $1: now, $2: end of the lease, $3: latest end of a first sweep after which the second may start. Publishers are found
 * one after the other in the index, each with its oldest due erasure. The erasure of a recently served publisher is due
 * later, because of its lease or its second sweep.
 */
const claimSql = `
with recursive publishers as (
  (select publisher_id from erasures where finished_at is null order by publisher_id limit 1)
  union all
  select (
    select publisher_id from erasures where finished_at is null and publisher_id > p.publisher_id
    order by publisher_id limit 1
  ) from publishers p where p.publisher_id is not null
), candidates as (
  select oldest.*, greatest($1, (
    select max(due_at) from erasures where publisher_id = p.publisher_id and finished_at is null
  )) as served_at
  from publishers p cross join lateral (
    select user_key, id, due_at as waiting_since from erasures
    where publisher_id = p.publisher_id and finished_at is null and due_at <= $1
      and (lease_until is null or lease_until <= $1) and (swept_at is null or swept_at <= $3)
    order by due_at limit 1
  ) oldest
)
update erasures set lease_until = $2, due_at = $2
where (user_key, id) = (
  select e.user_key, e.id from erasures e join candidates c on c.user_key = e.user_key and c.id = e.id
  where e.due_at <= $1 and e.finished_at is null
  order by c.served_at, c.waiting_since limit 1 for update of e skip locked
) returning ${columns}, subject_sealed as "subjectSealed"`;

/** Claims the erasure that has been due for the longest time, under a lease. Returns null if none is due. */
export async function claimErasure(executor: Executor, nowMs: number): Promise<ClaimedErasure | null> {
  const times = [nowMs, nowMs + leaseMs, nowMs - secondSweepMs].map((ms) => new Date(ms));
  const { rows } = await executor.query<ClaimedErasure>({ name: 'claim_erasure', text: claimSql, values: times });
  return rows[0] ?? null;
}

/** Renews the lease and stores the current counts. */
export async function renewErasure(
  executor: Executor,
  { userKey, id }: Erasure,
  counts: Partial<ErasedCounts>,
  nowMs: number,
): Promise<void> {
  await executor.query(
    'update erasures set lease_until = $3, due_at = $3, counts = $4 where user_key = $1 and id = $2',
    [userKey, id, new Date(nowMs + leaseMs), counts],
  );
}

/** Completes the first sweep and schedules the second one. */
export async function endFirstSweep(executor: Executor, { userKey, id }: Erasure, nowMs: number): Promise<void> {
  await executor.query(
    'update erasures set swept_at = $3, lease_until = null, due_at = $4 where user_key = $1 and id = $2',
    [userKey, id, new Date(nowMs), new Date(nowMs + secondSweepMs)],
  );
}

/**
 * Completes the erasure. From now on, the user is identified only by the keyed hash, and nothing refers to the
 * sessions.
 */
export async function endErasure(executor: Executor, { userKey, id }: Erasure, nowMs: number): Promise<void> {
  await executor.query(
    `with sessions_deleted as (delete from erased_sessions where user_key = $1 and erasure_id = $2)
    update erasures set finished_at = $3, subject_sealed = null, lease_until = null, due_at = $3
    where user_key = $1 and id = $2`,
    [userKey, id, new Date(nowMs)],
  );
}
