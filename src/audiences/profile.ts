import { integers, unread, uuids } from '../platform/db/binary-array.ts';
import type { Executor } from '../platform/db/pool.ts';

/** Data that a publisher has stored for a user. */
export type Profile = {
  /** Attribute values as text, like the custom attributes of a request. */
  attributes: ReadonlyMap<string, string>;
  /** IDs of the queried audiences that the user belongs to. */
  audiences: ReadonlySet<number>;
};

/** Stored attributes by name. `until` is the expiry time in epoch milliseconds. */
export type StoredAttributes = Record<string, { value: string | number | boolean; until?: number }>;

/** Profile row for one key of a user. Contains either attributes or audience IDs. */
export type ProfileRow = { user_key: string; profile: StoredAttributes | readonly number[] };

/** Profile query. `audienceIds` are the audiences to check. */
export type ProfileQuery = { userKeys: readonly string[]; audienceIds: readonly number[]; nowMs: number };

/**
 * Combines profile rows by user key. If an attribute is stored under two keys of a user, the first key takes
 * precedence.
 */
export function profilesOf(rows: readonly ProfileRow[]): (userKeys: readonly string[], nowMs: number) => Profile {
  const attributesOf = new Map<string, StoredAttributes>();
  const audiencesOf = new Map<string, readonly number[]>();
  for (const { user_key: key, profile } of rows) {
    if (isList(profile)) audiencesOf.set(key, profile);
    else attributesOf.set(key, profile);
  }
  return (userKeys, nowMs) => {
    const attributes = new Map<string, string>();
    for (const key of userKeys.toReversed())
      for (const [name, attribute] of Object.entries(attributesOf.get(key) ?? {}))
        if (isOpen(attribute, nowMs)) attributes.set(name, String(attribute.value));
    return { attributes, audiences: new Set(userKeys.flatMap((key) => audiencesOf.get(key) ?? [])) };
  };
}

const isList = (profile: ProfileRow['profile']): profile is readonly number[] => Array.isArray(profile);

/*
 * Users are read one after another. For a list of users, PostgreSQL 18 would read ahead with other processes, which
 * takes longer.
 */
const readSql = `
select k.user_key, a.attributes as profile from unnest(${unread('$1::uuid[]')}) as k (user_key)
cross join lateral (select attributes from user_attributes a where a.user_key = k.user_key limit 1) a
union all
select k.user_key, to_jsonb(m.ids) from unnest(${unread('$1::uuid[]')}) as k (user_key) cross join lateral (
  select array_agg(audience_id) as ids from audience_members m
  where m.user_key = k.user_key and m.audience_id = any(${unread('$2::integer[]')}::integer[])
    and (m.expires_at is null or m.expires_at > to_timestamp($3::float8))
) m
where m.ids is not null`;

/** Reads only the profiles of users, without their other data. */
export async function readProfiles(
  executor: Executor,
  { userKeys, audienceIds, nowMs }: ProfileQuery,
): Promise<ProfileRow[]> {
  const { rows } = await executor.query<ProfileRow>({
    name: 'read_profiles',
    text: readSql,
    values: [uuids(userKeys, (key) => key), integers(audienceIds, (id) => id), nowMs / 1000],
  });
  return rows;
}

const isOpen = ({ until }: StoredAttributes[string], nowMs: number): boolean => until === undefined || until > nowMs;

/** Returns the attributes that have not expired. */
export const withoutEnded = (stored: StoredAttributes, nowMs: number): StoredAttributes =>
  Object.fromEntries(Object.entries(stored).filter(([, attribute]) => isOpen(attribute, nowMs)));

/**
 * Returns the number of users with attributes by key prefix, which identifies the pepper
 * (platform/security/user-key.ts).
 */
export async function countAttributesByMark(executor: Executor): Promise<Map<string, number>> {
  const { rows } = await executor.query<{ mark: string; count: number }>(
    'select left(user_key::text, 4) as mark, count(*)::int as count from user_attributes group by 1',
  );
  return new Map(rows.map(({ mark, count }) => [mark, count]));
}
