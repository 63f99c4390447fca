import type { Executor } from '../../platform/db/pool.ts';

/**
 * User's membership in an audience. `facts` contains the times of the user's actions that count for the audience rule,
 * newest first.
 */
export type Membership = { isMember: boolean; expiresAt: Date | null; facts: Date[] };

export async function findMembership(
  executor: Executor,
  audienceId: number,
  userKeys: readonly string[],
  nowMs: number,
): Promise<Membership> {
  const { rows } = await executor.query<{ expires_at: Date | null }>(
    `select expires_at from audience_members
    where user_key = any($1::uuid[]) and audience_id = $2 and (expires_at is null or expires_at > $3)
    order by expires_at desc nulls first limit 1`,
    [userKeys, audienceId, new Date(nowMs)],
  );
  const { rows: facts } = await executor.query<{ at: Date }>(
    `select at from audience_facts where audience_id = $1 and user_key = any($2::uuid[]) order by at desc limit 100`,
    [audienceId, userKeys],
  );
  return { isMember: rows.length > 0, expiresAt: rows[0]?.expires_at ?? null, facts: facts.map(({ at }) => at) };
}

/** Number of users who are in two audiences, and the number of members of each of them. */
export type Overlap = { users: number; size: number; otherSize: number };

/** Returns the overlap of two audiences. */
export async function readOverlap(executor: Executor, a: number, b: number, nowMs: number): Promise<Overlap> {
  const users = await countOverlap(executor, a, b, nowMs);
  const { rows } = await executor.query<{ id: number; members: number }>(
    'select audience_id as id, members::float8 as members from audience_sizes where audience_id = any($1)',
    [[a, b]],
  );
  const sizeOf = (audienceId: number): number => rows.find(({ id }) => id === audienceId)?.members ?? 0;
  return { users, size: sizeOf(a), otherSize: sizeOf(b) };
}

/** Returns the number of users who are in both audiences. */
async function countOverlap(executor: Executor, a: number, b: number, nowMs: number): Promise<number> {
  const isOpen = (alias: string): string => `(${alias}.expires_at is null or ${alias}.expires_at > $3)`;
  const { rows } = await executor.query<{ count: number }>(
    `select count(*)::float8 as count from audience_members a join audience_members b using (user_key)
    where a.audience_id = $1 and b.audience_id = $2 and ${isOpen('a')} and ${isOpen('b')}`,
    [a, b, new Date(nowMs)],
  );
  return rows[0]?.count ?? 0;
}

/** Returns the audiences with members in common with an audience, and their number of common members, highest first. */
export async function readOverlaps(
  executor: Executor,
  audienceId: number,
  nowMs: number,
): Promise<{ key: string; name: string; users: number; size: number }[]> {
  const { rows } = await executor.query<{ key: string; name: string; users: number; size: number }>(
    `select o.key, o.name, shared.users::float8 as users, coalesce(s.members, 0)::float8 as size
    from audiences a
    join audiences o on o.publisher_id = a.publisher_id and o.id <> a.id
    join (
      select other.audience_id as id, count(*) as users
      from audience_members own join audience_members other using (user_key)
      where own.audience_id = $1 and (own.expires_at is null or own.expires_at > $2)
        and (other.expires_at is null or other.expires_at > $2)
      group by 1
    ) shared on shared.id = o.id
    left join audience_sizes s on s.audience_id = o.id
    where a.id = $1 order by users desc, o.key`,
    [audienceId, new Date(nowMs)],
  );
  return rows;
}

/** Returns the number of members of an audience per UTC day, oldest first. */
export async function readGrowth(executor: Executor, audienceId: number): Promise<{ atMs: number; members: number }[]> {
  const { rows } = await executor.query<{ atMs: number; members: number }>(
    `select (extract(epoch from day) * 1000)::float8 as "atMs", members::float8 as members from (
      select day, members from audience_growth where audience_id = $1 order by day desc limit 90
    ) latest order by day`,
    [audienceId],
  );
  return rows;
}
