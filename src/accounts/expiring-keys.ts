import type { Executor } from '../platform/db/pool.ts';

export type ExpiringKey = {
  id: number;
  publisherId: number;
  name: string;
  expiresAt: Date;
  lastUsedAt: Date | null;
  /** The fewest of the given days within which it ends. */
  days: number;
};

/** Keys that end within some of these days, unless they were made with less left. */
export async function findExpiringKeys(
  executor: Executor,
  days: readonly number[],
  nowMs: number,
): Promise<ExpiringKey[]> {
  const { rows } = await executor.query<ExpiringKey>(
    `select k.id, k.publisher_id as "publisherId", k.name, k.expires_at as "expiresAt", u.used_at as "lastUsedAt",
      within.days
    from api_keys k left join api_key_uses u on u.key_id = k.id
      cross join lateral (
        select min(days) as days from unnest($1::integer[]) as days
        where k.expires_at <= $2::timestamptz + make_interval(days => days)
      ) as within
    where k.revoked_at is null and k.expires_at > $2::timestamptz
      and k.created_at <= k.expires_at - make_interval(days => within.days)
    order by k.id`,
    [days, new Date(nowMs)],
  );
  return rows;
}
