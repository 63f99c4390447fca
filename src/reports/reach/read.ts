import { type Executor, readSlices } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { problem } from '../../platform/problem.ts';
import { dimensionNames, type UserCount } from '../metrics.ts';
import { groupSql, readRange, type TimeRange } from '../query/query.ts';
import { tooLarge } from '../query/read-only.ts';
import { filterSql, impressionsSql } from '../query/source.ts';
import type { ActivityQuery } from '../query/types.ts';
import { dayBit, dimensionBits } from '../rollup/grains.ts';
import { sketchMasks } from './compact.ts';
import {
  addImpressions,
  countUsers,
  createPauses,
  createSketch,
  firstUsersSql,
  hashOfKey,
  maxUsers,
  mergeEncoded,
  type Sketch,
  shareOf,
} from './sketch.ts';

export const noUsers: UserCount = Object.freeze({ users: 0, impressions: 0, unknown: 0, isExact: true });

/** Source that counts the users of a query: sketches, raw rows, or none. */
export type UserSource = 'sketches' | 'raw' | null;

/** Groups of a result: by time slot and group, or only by group. */
type Grouping = 'slots' | 'range';

/** Users by group, and in total. The keys are from `userKeyOf`. */
export type UsersOf<T> = { groups: ReadonlyMap<string, T>; total: T };

/** Returns the key of a group. `startMs` is the start of the time slot, or null for the whole range. */
export const userKeyOf = (startMs: number | null, group: readonly (string | number)[]): string =>
  JSON.stringify([startMs, ...group]);

const canUseSketches = ({ groupBy, customValues, otherCustom = [], buckets, aggregatedBy }: ActivityQuery): boolean =>
  buckets === 'day' &&
  aggregatedBy !== 'hour' &&
  customValues === null &&
  otherCustom.length === 0 &&
  !groupBy.includes('custom');

/**
 * Returns the source from which to count the users of a query. Sketches exist since the first release with sketches,
 * for days in the publisher's time zone, without custom attributes. Everything else is counted from raw rows, as long
 * as they are stored.
 */
export async function userSourceOf(
  executor: Executor,
  query: ActivityQuery,
  { nowMs, retentionRawDays }: RawRetention,
): Promise<UserSource> {
  if (await hasSketches(executor, query)) return 'sketches';
  if (query.groupBy.includes('custom')) return null;
  const { start } = await readRange(executor, query);
  return start.getTime() >= rawFromMs({ nowMs, retentionRawDays }) ? 'raw' : null;
}

/** Options that determine which raw rows are stored. */
export type RawRetention = { nowMs: number; retentionRawDays: number };

const rawFromMs = ({ nowMs, retentionRawDays }: RawRetention): number => nowMs - (retentionRawDays - 1) * dayMs;

/**
 * Returns the first day for which the users of a query can be counted, or null if there is no limit. The range of the
 * query is ignored.
 * @param retention null to consider only sketches
 */
export async function usersFromDay(
  executor: Executor,
  query: ActivityQuery,
  retention: RawRetention | null,
): Promise<string | null> {
  const { rows } = await executor.query<{ day: string }>({
    name: 'users_from_day',
    text: `select (((from_at - interval '1 microsecond') at time zone time_zone_or_utc($3))::date + 1)::text as day
      from (
        select least($1::timestamptz, case when $2 then reach_from else 'infinity' end) as from_at from rollup_progress
      ) as first`,
    values: [retention === null ? 'infinity' : new Date(rawFromMs(retention)), canUseSketches(query), query.timeZone],
  });
  const { day } = rows[0] ?? {};
  return day === undefined || day.endsWith('infinity') ? null : day;
}

/** Whether sketches can answer a query. */
export async function hasSketches(executor: Executor, query: ActivityQuery): Promise<boolean> {
  if (!canUseSketches(query)) return false;
  const { start } = await readRange(executor, query);
  const { rows } = await executor.query<{ complete: boolean }>({
    name: 'has_sketches',
    text: 'select reach_from <= $1 as complete from rollup_progress',
    values: [start],
  });
  return rows[0]?.complete === true;
}

/**
 * Counts the users of a query.
 * @throws AppError invalid_request if they cannot be counted, report_too_large
 */
export async function countUsersOf(
  executor: Executor,
  query: ActivityQuery,
  { source, ...options }: { source: UserSource } & ReadOptions,
): Promise<UsersOf<UserCount>> {
  if (source === null)
    throw new AppError('invalid_request', { details: [{ path: '/metrics', message: problem('reachUnknown') }] });
  if (source === 'raw') return countRawUsers(executor, query, options.grouping);
  const { groups, total } = await readUsers(executor, query, options);
  return { groups: new Map([...groups].map(([key, users]) => [key, userCountOf(users)])), total: userCountOf(total) };
}

/** Users in memory, with their total number of impressions. */
export type Users = { sketch: Sketch; impressions: number; unknown: number };

export const userCountOf = ({ sketch, impressions, unknown }: Users): UserCount => ({
  users: countUsers(sketch),
  impressions,
  unknown,
  isExact: shareOf(sketch) === 1,
});

/** Maximum size of the sketches that a report reads, in bytes. */
const maxBytes = 64_000_000;
/**
 * Number of users to read for each group, as a multiple of `maxUsers`. As long as users return on fewer days than this
 * factor, a union of many days is as exact as a single day.
 */
const readFactor = 8;

type SketchRow = GroupRow & { impressions: string; unknown: string; size: number };

export type ReadOptions = {
  grouping: Grouping;
  /** Returns the group to which the users of a group are added. Defaults to the group itself. */
  unite?: (value: string | number) => string | number;
};

/**
 * Reads the users of a query from sketches. Sketches are merged, so each user is counted once in each group and once in
 * the total. Check `userSourceOf` first.
 * @throws AppError report_too_large
 */
export async function readUsers(
  executor: Executor,
  query: ActivityQuery,
  options: ReadOptions,
): Promise<UsersOf<Users>> {
  const { grouping } = options;
  const range = await readRange(executor, query);
  const { groups, total, targetsOf } = createTargets(query, options);
  const pause = createPauses();
  for (const row of await readSketches(executor, query, { range, grouping }))
    for (const users of targetsOf(row)) {
      addCounts(users, Number(row.impressions), Number(row.unknown));
      mergeEncoded(users.sketch, row.sketch as Buffer, row.size);
      await pause((row.sketch as Buffer).length);
    }
  for (const row of await readPending(executor, query, range)) {
    const keys = row.users as string[];
    const weight = Number(row.weight);
    for (const users of targetsOf(row)) {
      addCounts(users, weight * keys.length, Number(row.unknown));
      for (const key of keys) addImpressions(users.sketch, hashOfKey(key), weight);
      await pause(keys.length * 16);
    }
  }
  return { groups, total };
}

/** Maximum number of users and groups that a report reads from raw rows. */
const maxRawUsers = 1_000_000;

/**
 * Reads the users of a query from raw rows.
 * @throws AppError report_too_large
 */
export async function readRawUsers(
  executor: Executor,
  query: ActivityQuery,
  options: ReadOptions,
): Promise<UsersOf<Users>> {
  const { start, end, zone } = await readRange(executor, query);
  const values: unknown[] = [query.publisherId, start, end, query.aggregatedBy, zone];
  const { groups, total, targetsOf } = createTargets(query, options);
  const names = ['start_s', ...query.groupBy.map((_, index) => `group_${index}`)];
  const text = `
    select ${names.join(', ')}, user_key::text as user_key, count(*)::float8 as impressions
    from (
      select ${[slotSql, ...groupColumns(query)].join(', ')}, user_key
      from (${impressionsSql(query, (value) => `$${values.push(value)}`)}) as impressions
    ) as slots
    group by ${names.join(', ')}, user_key limit ${maxRawUsers + 1}`;
  const pause = createPauses();
  let count = 0;
  for await (const rows of readSlices<RawUserRow>(executor, text, values)) {
    count += rows.length;
    if (count > maxRawUsers) throw tooLarge(problem('reachTooLarge'));
    for (const row of rows)
      for (const users of targetsOf(row)) {
        if (row.user_key === null) users.unknown += row.impressions;
        else {
          users.impressions += row.impressions;
          addImpressions(users.sketch, hashOfKey(row.user_key), row.impressions);
        }
      }
    await pause(rows.length * 16);
  }
  return { groups, total };
}

type RawUserRow = GroupRow & { user_key: string | null; impressions: number };

/** Row with the start of its time slot in seconds and the values of its group as `group_0`, `group_1` and so on. */
type GroupRow = Record<string, unknown> & { start_s: number };

/** Creates the groups of a result, and a function that returns the group of a row, and the total. */
function createTargets({ groupBy }: ActivityQuery, { grouping, unite = (value) => value }: ReadOptions) {
  const groups = new Map<string, Users>();
  const total = createUsers();
  const targetsOf = (row: GroupRow): Users[] => {
    const [first, ...others] = groupBy.map((_, index) => row[`group_${index}`] as string | number);
    const group = first === undefined ? [] : [unite(first), ...others];
    const key = userKeyOf(grouping === 'slots' ? row.start_s * 1000 : null, group);
    const users = groups.get(key) ?? createUsers();
    groups.set(key, users);
    return [users, total];
  };
  return { groups, total, targetsOf };
}

const createUsers = (): Users => ({ sketch: createSketch(), impressions: 0, unknown: 0 });

function addCounts(users: Users, impressions: number, unknown: number): void {
  users.impressions += impressions;
  users.unknown += unknown;
}

const groupColumns = ({ groupBy }: ActivityQuery): string[] =>
  groupBy.map((name, index) => `${groupSql(name, true)} as group_${index}`);

/** SQL for the start of a row's time slot, in seconds. */
const slotSql = "date_part('epoch', date_trunc($4, bucket, $5))::float8 as start_s";

/** Returns the stored combination of dimensions with the fewest rows that contains those of a query. */
function maskOf({ groupBy, filters }: ActivityQuery): number {
  const used = dimensionNames.filter((name) => groupBy.includes(name) || filters[name] !== undefined);
  const mask = used.reduce((bits, name) => bits | dimensionBits[name], 0);
  return sketchMasks.find((stored) => (stored & mask) === mask) as number;
}

type Reading = { range: TimeRange; grouping: Grouping };

/** Reads as much of each sketch as the groups need. */
async function readSketches(
  executor: Executor,
  query: ActivityQuery,
  { range, grouping }: Reading,
): Promise<SketchRow[]> {
  const values: unknown[] = [query.publisherId, range.start, range.end, query.aggregatedBy, range.zone];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const positions = [
    ...(grouping === 'slots' ? ['start_s'] : []),
    ...query.groupBy.map((_, index) => `group_${index}`),
  ];
  const partition = positions.length === 0 ? '' : `partition by ${positions.join(', ')}`;
  const sources = `
with matched as (
  select ${[slotSql, ...groupColumns(query)].join(', ')}, known as impressions, unknown, users, sketch
  from reach_sketches
  where publisher_id = $1 and grain = ${maskOf(query) | dayBit} and bucket >= $2 and bucket < $3
    ${filterSql(query, bind)}
),
cut as (
  select *, ceil(1.05 * users * least(1, ${readFactor * maxUsers} / greatest(1, sum(users) over (${partition})))) + 64
    as first_users
  from matched
)`;
  const { rows: sizes } = await executor.query<{ bytes: number }>(
    `${sources} select coalesce(sum(least(octet_length(sketch), 8 * first_users)), 0)::float8 as bytes from cut`,
    values,
  );
  if ((sizes[0]?.bytes ?? 0) > maxBytes) throw tooLarge(problem('reachTooLarge'));
  const { rows } = await executor.query<SketchRow>(
    `${sources} select ${['start_s', ...query.groupBy.map((_, index) => `group_${index}`)].join(', ')},
      impressions, unknown, octet_length(sketch) as size, ${firstUsersSql('sketch', 'first_users')} as sketch from cut`,
    values,
  );
  return rows;
}

/** Maximum number of impressions that are not in sketches yet. It is exceeded only if no worker has run for a while. */
const maxPending = 1_000_000;

/** Reads the users that are not in sketches yet. */
async function readPending(executor: Executor, query: ActivityQuery, range: TimeRange): Promise<SketchRow[]> {
  const values: unknown[] = [query.publisherId, range.start, range.end, query.aggregatedBy, range.zone];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const matched = `with matched as (
    select ${[slotSql, ...groupColumns(query)].join(', ')}, weight, users, unknown from reach_pending
    where publisher_id = $1 and bucket >= $2 and bucket < $3${filterSql(query, bind)}
  )`;
  const { rows: counts } = await executor.query<{ users: number }>(
    `${matched} select coalesce(sum(cardinality(users)), 0)::float8 as users from matched`,
    values,
  );
  if ((counts[0]?.users ?? 0) > maxPending) throw tooLarge(problem('reachTooLarge'));
  const groups = query.groupBy.map((_, index) => `group_${index}`);
  const columns = ['start_s', ...groups, 'weight', 'users::text[] as users', 'unknown'];
  const { rows } = await executor.query<SketchRow>(`${matched} select ${columns.join(', ')} from matched`, values);
  return rows;
}

/** Counts the users exactly, from raw rows. */
async function countRawUsers(
  executor: Executor,
  query: ActivityQuery,
  grouping: Grouping,
): Promise<UsersOf<UserCount>> {
  const { start, end, zone } = await readRange(executor, query);
  const values: unknown[] = [query.publisherId, start, end, query.aggregatedBy, zone];
  const positions = [
    ...(grouping === 'slots' ? ['start_s'] : []),
    ...query.groupBy.map((_, index) => `group_${index}`),
  ];
  const sets = positions.length === 0 ? '()' : `(${positions.join(', ')}), ()`;
  const isTotal = positions.length === 0 ? 'true' : `grouping(${positions[0]}) = 1`;
  const { rows } = await executor.query<SketchRow>(
    `select ${[...positions, isTotal].join(', ')} as is_total,
      count(distinct user_key)::float8 as users, count(user_key)::float8 as impressions,
      (count(*) - count(user_key))::float8 as unknown
    from (
      select ${[slotSql, ...groupColumns(query)].join(', ')}, user_key
      from (${impressionsSql(query, (value) => `$${values.push(value)}`)}) as impressions
    ) as slots
    group by grouping sets (${sets})`,
    values,
  );
  const groups = new Map<string, UserCount>();
  let total = noUsers;
  for (const row of rows) {
    const { impressions, unknown, users, start_s: startS } = row;
    const count = { users: Number(users), impressions: Number(impressions), unknown: Number(unknown), isExact: true };
    if (row.is_total === true) total = count;
    const group = query.groupBy.map((_, index) => row[`group_${index}`] as string | number);
    if (row.is_total !== true || positions.length === 0)
      groups.set(userKeyOf(grouping === 'slots' ? startS * 1000 : null, group), count);
  }
  return { groups, total };
}
