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

/**
 * Stored data under one key of a user. `audiences` is a PostgreSQL array of audience IDs in text form, which is cheaper
 * than JSON.
 */
export type ProfileRow = { user_key: string; attributes: StoredAttributes | null; audiences: string };

/** Profile query. `audienceIds` are the audiences to check. */
export type ProfileQuery = { userKeys: readonly string[]; audienceIds: readonly number[]; nowMs: number };

/**
 * Combines profile rows by user key. If an attribute is stored under two keys of a user, the first key takes
 * precedence.
 */
export function profilesOf(rows: readonly ProfileRow[]): (userKeys: readonly string[], nowMs: number) => Profile {
  const rowsByKey = new Map(rows.map((row) => [row.user_key, row]));
  return (userKeys, nowMs) => {
    const attributes = new Map<string, string>();
    const audiences = new Set<number>();
    for (const key of userKeys.toReversed()) {
      const row = rowsByKey.get(key);
      if (row === undefined) continue;
      for (const id of idsIn(row.audiences)) audiences.add(id);
      if (row.attributes === null) continue;
      for (const [name, attribute] of Object.entries(row.attributes))
        if (isOpen(attribute, nowMs)) attributes.set(name, String(attribute.value));
    }
    return { attributes, audiences };
  };
}

/** Parses an integer array in text form, such as `{1,2}`. */
const idsIn = (text: string): number[] => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number));

/*
 * Users are read one after another. For a list of users, PostgreSQL 18 would read ahead with other processes, which
 * takes longer. Subqueries take 40% less time than lateral joins.
 */
const readSql = `
select k.user_key,
  (select attributes from user_attributes a where a.user_key = k.user_key) as attributes,
  array(
    select audience_id from audience_members m
    where m.user_key = k.user_key and m.audience_id = any(${unread('$2::integer[]')}::integer[])
      and (m.expires_at is null or m.expires_at > to_timestamp($3::float8))
  )::text as audiences
from unnest(${unread('$1::uuid[]')}) as k (user_key)`;

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
