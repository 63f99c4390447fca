import type pg from 'pg';
import { bigints, integers, uuids } from '../../platform/db/binary-array.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';

/*
 * Users are locked in key order. Expired memberships that have not been deleted yet are renewed, and do not count as
 * new.
 */
const addSql = `
with added as (
  insert into audience_members as known (user_key, audience_id, expires_at)
  select user_key, $2, $3 from unnest($1::uuid[]) as given (user_key) order by user_key
  on conflict (user_key, audience_id) do update set expires_at = excluded.expires_at
  returning xmax = 0 as is_new
)
select count(*) filter (where is_new)::int as count from added`;

/**
 * Adds members, and updates the expiry of existing ones.
 * @returns number of new members
 */
export async function addMembers(
  executor: Executor,
  audienceId: number,
  userKeys: readonly string[],
  expiresAt: Date | null,
): Promise<number> {
  const count = await insertMembers(executor, audienceId, userKeys, expiresAt);
  await changeSizes(executor, new Map([[audienceId, count]]));
  return count;
}

async function insertMembers(
  executor: Executor,
  audienceId: number,
  userKeys: readonly string[],
  expiresAt: Date | null,
): Promise<number> {
  const distinct = [...new Set(userKeys)];
  const { rows } = await executor.query<{ count: number }>({
    name: 'add_members',
    text: addSql,
    values: [uuids(distinct, (key) => key), audienceId, expiresAt],
  });
  return rows[0]?.count ?? 0;
}

const removeSql = `
delete from audience_members where (user_key, audience_id) in (
  select user_key, audience_id from audience_members
  where user_key = any($1::uuid[]) and ($2::integer is null or audience_id = $2)
  order by user_key, audience_id for update
) returning audience_id`;

/**
 * Removes members.
 * @param audienceId audience ID, or null to remove them from all audiences
 * @returns number of removed memberships
 */
export async function removeMembers(
  executor: Executor,
  audienceId: number | null,
  userKeys: readonly string[],
): Promise<number> {
  const removed = await deleteMembers(executor, audienceId, userKeys);
  await changeSizes(executor, countsOf(removed));
  return removed.length;
}

/**
 * Deletes memberships.
 * @returns the audience ID of each removed membership
 */
async function deleteMembers(
  executor: Executor,
  audienceId: number | null,
  userKeys: readonly string[],
): Promise<number[]> {
  const { rows } = await executor.query<{ audience_id: number }>({
    name: 'remove_members',
    text: removeSql,
    values: [uuids(userKeys, (key) => key), audienceId],
  });
  return rows.map(({ audience_id: id }) => id);
}

/* A rule-based membership ends a number of days after the oldest of the actions that it depends on. */
const removeFollowedSql = `
delete from audience_members where (user_key, audience_id) in (
  select m.user_key, m.audience_id from audience_members m join audiences a on a.id = m.audience_id
  where m.user_key = any($1::uuid[])
    and m.expires_at <= $2::timestamptz + make_interval(days => (a.rule ->> 'within_days')::int)
  order by m.user_key, m.audience_id for update of m
) returning audience_id`;

/** Removes rule-based memberships that depend on actions up to the given time. */
export async function removeFollowed(executor: Executor, userKeys: readonly string[], since: Date): Promise<void> {
  const { rows } = await executor.query<{ audience_id: number }>(removeFollowedSql, [userKeys, since]);
  await changeSizes(executor, countsOf(rows.map(({ audience_id: id }) => id)));
}

/** Returns the changes in audience sizes for the removed memberships. */
function countsOf(audienceIds: readonly number[]): Map<number, number> {
  const changes = new Map<number, number>();
  for (const id of audienceIds) changes.set(id, (changes.get(id) ?? 0) - 1);
  return changes;
}

/**
 * Users who join or leave an audience. Each user is a list of user keys. For joining users, the current key comes
 * first.
 */
export type MemberChange = { join: readonly (readonly string[])[]; leave: readonly (readonly string[])[] };

/** Changes the members of several audiences in one transaction. */
export async function changeMembers(executor: Executor, changes: ReadonlyMap<number, MemberChange>): Promise<void> {
  const sizes = new Map<number, number>();
  for (const [id, { join, leave }] of [...changes].sort(([a], [b]) => a - b)) {
    const gone = await deleteMembers(executor, id, [...leave.flat(), ...join.flatMap((keys) => keys.slice(1))]);
    const added = await insertMembers(
      executor,
      id,
      join.flatMap(([key]) => key ?? []),
      null,
    );
    sizes.set(id, added - gone.length);
  }
  await changeSizes(executor, sizes);
}

/**
 * Updates audience sizes. Call it last in a transaction, because it locks the audience rows and thus blocks concurrent
 * changes.
 */
export async function changeSizes(executor: Executor, changes: ReadonlyMap<number, number>): Promise<void> {
  const nonZero = [...changes].filter(([, change]) => change !== 0).sort(([a], [b]) => a - b);
  if (nonZero.length === 0) return;
  await executor.query({
    name: 'change_audience_sizes',
    text: `insert into audience_sizes as known (audience_id, members)
      select id, change from unnest($1::integer[], $2::bigint[]) as given (id, change)
      where id in (select id from audiences) order by id
      on conflict (audience_id) do update set members = known.members + excluded.members`,
    values: [integers(nonZero, ([id]) => id), bigints(nonZero, ([, change]) => change)],
  });
}

/** Number of memberships deleted per statement. */
const sliceSize = 5000;

const endedSql = `
delete from audience_members where (user_key, audience_id) in (
  select user_key, audience_id from audience_members where expires_at <= $1
  order by user_key, audience_id limit ${sliceSize} for update skip locked
) returning audience_id`;

/**
 * Deletes expired memberships.
 * @returns whether there may be more
 */
export const deleteEndedMembers = (pool: pg.Pool, nowMs: number): Promise<boolean> =>
  transaction(pool, async (executor) => {
    const { rows } = await executor.query<{ audience_id: number }>(endedSql, [new Date(nowMs)]);
    await changeSizes(executor, countsOf(rows.map(({ audience_id: id }) => id)));
    return rows.length === sliceSize;
  });

/* Finds the IDs of all audiences that have members, with one index lookup per audience. */
const orphanedSql = `
with recursive ids as (
  (select audience_id from audience_members order by audience_id limit 1)
  union all
  select (select audience_id from audience_members where audience_id > ids.audience_id order by audience_id limit 1)
  from ids where ids.audience_id is not null
), gone as (
  select audience_id from ids where audience_id is not null and audience_id not in (select id from audiences) limit 1
)
delete from audience_members where ctid = any(array(
  select m.ctid from audience_members m join gone using (audience_id) limit ${sliceSize}
))`;

/**
 * Deletes the members of removed audiences.
 * @returns whether there may be more
 */
export async function deleteOrphanedMembers(executor: Executor): Promise<boolean> {
  const { rowCount } = await executor.query(orphanedSql);
  return rowCount === sliceSize;
}

/** Records each audience's current number of members as the figure for the day. */
export async function noteGrowth(executor: Executor, nowMs: number): Promise<void> {
  await executor.query(
    `insert into audience_growth (audience_id, day, members)
    select audience_id, $1::date, members from audience_sizes order by audience_id
    on conflict (audience_id, day) do update set members = excluded.members
    where audience_growth.members <> excluded.members`,
    [new Date(nowMs).toISOString().slice(0, 10)],
  );
}
