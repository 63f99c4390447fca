import { maxAttributes } from '../../catalog/names.ts';
import { texts, timestamps, uuids } from '../../platform/db/binary-array.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { AppError, type ErrorDetail } from '../../platform/errors.ts';
import { createPacer } from '../../platform/lib/slices.ts';
import { type Problem, problem } from '../../platform/problem.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import { type StoredAttributes, withoutEnded } from '../profile.ts';
import type { AttributesChange } from './read.ts';

/** Maximum number of reported errors. */
const maxDetails = 20;

/**
 * Number of users per statement. It is limited because the attributes in one response of the database may be parsed in
 * a single turn of the event loop. With 4 kB of attributes per user, this takes up to 10 ms.
 */
const usersPerStatement = 200;

/* Locks rows in key order, which is also the order of the slices, including rows that don't exist yet. */
const lockSql = `
insert into user_attributes as known (user_key, publisher_id, attributes, updated_at)
select user_key, $2, '{}', $3 from unnest($1::uuid[]) as given (user_key) order by user_key
on conflict (user_key) do update set updated_at = excluded.updated_at
returning user_key, attributes`;

/* Rows without attributes are deleted. */
const saveSql = `
with given as (
  select user_key, attributes::jsonb as attributes, expires_at
  from unnest($1::uuid[], $2::text[], $3::timestamptz[]) as given (user_key, attributes, expires_at)
), emptied as (
  delete from user_attributes where user_key in (select user_key from given where attributes = '{}')
)
update user_attributes known set attributes = given.attributes, expires_at = given.expires_at
from given where known.user_key = given.user_key and given.attributes <> '{}'`;

type Saving = {
  publisherId: number;
  userKeys: UserKeys;
  nowMs: number;
  /**
   * Called for each change that can't be saved. Such a change is then skipped. Without this callback, a single invalid
   * change prevents all changes from being saved.
   */
  refuse?: Refuse;
};

/**
 * Reports a change that can't be saved. `name` is the attribute name, or null if the change as a whole would exceed the
 * attribute limit.
 */
type Refuse = (change: AttributesChange, name: string | null, message: Problem) => void;

/**
 * Applies attribute changes one after the other. Attributes stored under earlier pepper keys are moved to the current
 * key.
 * @returns the resulting attributes of each user, in the order of the changes
 * @throws AppError invalid_request if an attribute changes its type or there are too many attributes. In that case,
 * nothing is saved. If `refuse` is set, it is called instead of throwing.
 */
export async function saveAttributes(
  executor: Executor,
  changes: readonly AttributesChange[],
  { publisherId, userKeys, nowMs, refuse }: Saving,
): Promise<StoredAttributes[]> {
  const keys = changes.map(({ pubUserId }) => userKeys.of(publisherId, pubUserId));
  const slices = slicesOf([...new Set(keys)].sort());
  const attributesByKey = new Map<string, StoredAttributes>();
  const pace = createPacer();
  for (const slice of slices) {
    const { rows } = await executor.query<{ user_key: string; attributes: StoredAttributes }>({
      name: 'lock_user_attributes',
      text: lockSql,
      values: [uuids(slice, (key) => key), publisherId, new Date(nowMs)],
    });
    for (const { user_key, attributes } of rows) {
      attributesByKey.set(user_key, withoutEnded(attributes, nowMs));
      await pace();
    }
  }
  for (const { pubUserId } of changes)
    await mergeEarlier(executor, attributesByKey, { publisherId, userKeys, nowMs }, pubUserId);
  const details: ErrorDetail[] = [];
  const note: Refuse = ({ path }, name, message) =>
    details.push({ path: `${path}/attributes${name === null ? '' : `/${name}`}`, message });
  const after: StoredAttributes[] = [];
  for (const [index, change] of changes.entries()) {
    const key = keys[index] as string;
    const changed = changedBy(attributesByKey.get(key) ?? {}, change, refuse ?? note);
    attributesByKey.set(key, changed);
    after.push(changed);
    await pace();
  }
  if (details.length > 0) throw new AppError('invalid_request', { details: details.slice(0, maxDetails) });
  for (const slice of slices) {
    const rows: { key: string; text: string; endMs: number | null }[] = [];
    for (const key of slice) {
      const attributes = attributesByKey.get(key) ?? {};
      rows.push({ key, text: JSON.stringify(attributes), endMs: endOf(attributes) });
      await pace();
    }
    await executor.query({
      name: 'save_user_attributes',
      text: saveSql,
      values: [uuids(rows, ({ key }) => key), texts(rows, ({ text }) => text), timestamps(rows, ({ endMs }) => endMs)],
    });
  }
  return after;
}

const slicesOf = (keys: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(keys.length / usersPerStatement) }, (_, index) =>
    keys.slice(index * usersPerStatement, (index + 1) * usersPerStatement),
  );

async function mergeEarlier(
  executor: Executor,
  attributesByKey: Map<string, StoredAttributes>,
  { publisherId, userKeys, nowMs }: Omit<Saving, 'refuse'>,
  pubUserId: string,
): Promise<void> {
  const earlierKeys = userKeys.earlierOf(publisherId, pubUserId);
  if (earlierKeys.length === 0) return;
  const { rows } = await executor.query<{ attributes: StoredAttributes }>(
    'delete from user_attributes where user_key = any($1::uuid[]) returning attributes',
    [earlierKeys],
  );
  const key = userKeys.of(publisherId, pubUserId);
  for (const { attributes } of rows)
    attributesByKey.set(key, { ...withoutEnded(attributes, nowMs), ...attributesByKey.get(key) });
}

function changedBy(current: StoredAttributes, change: AttributesChange, refuse: Refuse): StoredAttributes {
  const { set, remove, untilMs } = change;
  const changed: StoredAttributes = { ...current };
  for (const name of remove) delete changed[name];
  for (const [name, value] of set) {
    const before = typeof changed[name]?.value;
    if (before !== 'undefined' && before !== typeof value) {
      refuse(change, name, problem('attributeTypeFixed', { before, after: typeof value }));
    } else changed[name] = untilMs === null ? { value } : { value, until: untilMs };
  }
  if (Object.keys(changed).length <= maxAttributes) return changed;
  refuse(change, null, problem('maxUserAttributes', { max: maxAttributes }));
  return current;
}

/** Returns the time when the last attribute expires in epoch milliseconds, or null if any attribute has no expiry. */
function endOf(attributes: StoredAttributes): number | null {
  const ends = Object.values(attributes).map(({ until }) => until ?? Number.POSITIVE_INFINITY);
  const last = Math.max(...ends);
  return Number.isFinite(last) ? last : null;
}

/**
 * Returns the attributes of a user, or null if none exists. If an attribute is stored under several keys, the first key
 * takes precedence.
 */
export async function findAttributes(
  executor: Executor,
  keys: readonly string[],
  nowMs: number,
): Promise<StoredAttributes | null> {
  const { rows } = await executor.query<{ attributes: StoredAttributes }>(
    `select attributes from user_attributes where user_key = any($1::uuid[])
    order by array_position($1::uuid[], user_key) desc`,
    [keys],
  );
  const open = withoutEnded(Object.assign({}, ...rows.map(({ attributes }) => attributes)), nowMs);
  return Object.keys(open).length === 0 ? null : open;
}

/**
 * Deletes the records of users whose attributes have all expired.
 * @returns number of users
 */
export async function deleteEndedAttributes(executor: Executor, nowMs: number): Promise<number> {
  const { rowCount } = await executor.query('delete from user_attributes where expires_at <= $1', [new Date(nowMs)]);
  return rowCount ?? 0;
}
