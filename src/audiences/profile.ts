import type { Executor } from '../platform/db/pool.ts';

/** What a publisher has told of a user, beside what the user did. */
export type Profile = {
  /** As text, like the custom attributes of a request. */
  attributes: ReadonlyMap<string, string>;
};

const noProfile: Profile = { attributes: new Map() };

/** Attributes as they are stored, by name; `until` in epoch milliseconds. */
export type StoredAttributes = Record<string, { value: string | number | boolean; until?: number }>;

/** One of the rows that make a profile: all of them have a key of the user. */
export type ProfileRow = { user_key: string; beside: StoredAttributes };

/**
 * SQL of the rows that make profiles, to be read in one statement with other rows of the users.
 * @param first number of its parameter, the keys of the users
 */
export const profileSql = (first: number): string =>
  `select user_key, attributes as beside from user_attributes where user_key = any($${first}::uuid[])`;

/** Profiles by the keys that were looked for. Of what two keys of a user say, `profileOf` takes the first one's. */
export function profilesOf(rows: readonly ProfileRow[]): (userKeys: readonly string[], nowMs: number) => Profile {
  const found = new Map(rows.map((row) => [row.user_key, row.beside]));
  return (userKeys, nowMs) => {
    const stored: StoredAttributes = Object.assign({}, ...userKeys.map((key) => found.get(key) ?? {}).toReversed());
    const attributes = new Map<string, string>();
    for (const [name, { value }] of Object.entries(withoutEnded(stored, nowMs))) attributes.set(name, String(value));
    return attributes.size === 0 ? noProfile : { attributes };
  };
}

/** Reads profiles alone, where nothing else of the users is read. */
export async function readProfiles(executor: Executor, userKeys: readonly string[]): Promise<ProfileRow[]> {
  const { rows } = await executor.query<ProfileRow>({
    name: 'read_profiles',
    text: profileSql(1),
    values: [userKeys],
  });
  return rows;
}

/** Attributes that have not ended. */
export const withoutEnded = (stored: StoredAttributes, nowMs: number): StoredAttributes =>
  Object.fromEntries(Object.entries(stored).filter(([, { until }]) => until === undefined || until > nowMs));

/** Users by what their keys begin with, which tells the pepper (platform/security/user-key.ts). */
export async function countAttributesByMark(executor: Executor): Promise<Map<string, number>> {
  const { rows } = await executor.query<{ mark: string; count: number }>(
    'select left(user_key::text, 4) as mark, count(*)::int as count from user_attributes group by 1',
  );
  return new Map(rows.map(({ mark, count }) => [mark, count]));
}
