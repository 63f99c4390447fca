import { byteas, integers, uuids } from '../../platform/db/binary-array.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { type Exposure, noHistory, type OptOuts, type UserHistory } from '../caps.ts';
import { exposureRecord, type Reserved, readRecords, reservedRecord } from './records.ts';

/** Longest cap window, in milliseconds. Older exposures count only towards caps without a window. */
const longestWindowMs = 180 * dayMs;

/**
 * Maximum number of exposures stored individually. Older ones are merged by offer and event, with the time of the
 * newest one, so that no cap can be exceeded.
 */
const maxSingle = 256;

/** Maximum number of settled or expired reservation records before a history is rewritten without them. */
const maxStale = 24;

type HistoryRow = { user_key: string; opt_outs: OptOuts; exposures: Buffer; version: string };

/** History that is in use while a batch is decided, including the reservations that the batch has made so far. */
export type OpenHistory = {
  userKey: string;
  publisherId: number;
  optOuts: OptOuts;
  exposures: Exposure[];
  reserved: Reserved[];
  /** Reservation records added by the batch. */
  added: Buffer[];
  /** ID of the transaction that last wrote the row, or 0 if there was no row. */
  version: number;
  /** Whether the history should be rewritten, which requires a lock. */
  isBloated: boolean;
};

/** Profiles to read in the same statement as the histories, by user key. */
export type ProfileQuery = { userKeys: readonly string[]; audienceIds: readonly number[]; nowMs: number };

/** Stored data under one user key: attributes by name, and audience IDs as a PostgreSQL array in text form. */
export type ProfileRow = {
  user_key: string;
  attributes: Record<string, { value: string | number | boolean; until?: number }> | null;
  audiences: string;
};

/** Histories by user key, and profile rows. `profileRows` is null if no profiles were requested. */
type OpenHistories = { histories: Map<string, OpenHistory>; profileRows: readonly ProfileRow[] | null };

/*
 * Reads the profiles of the users with the keys $1: their attributes, and their audiences among $2 at the time $3.
 * Users are read one after another. For a list of keys, PostgreSQL 18 would read ahead with other processes, which
 * takes twice as long here. Subqueries take 40% less time than lateral joins. The subqueries around the parameters hide
 * the array lengths from the planner, which would otherwise create a new plan for each list with fewer than ten values.
 */
const profilesSql = `profiles as (
  select k.user_key,
    (select attributes from user_attributes a where a.user_key = k.user_key) as attributes,
    array(
      select audience_id from audience_members m
      where m.user_key = k.user_key and m.audience_id = any((select $2::integer[])::integer[])
        and (m.expires_at is null or m.expires_at > to_timestamp($3::float8))
    )::text as audiences
  from unnest((select $1::uuid[])) as k (user_key)
)`;

/** SQL that returns histories and profiles as rows with the same columns. */
const mixedRowsSql = `
select user_key, opt_outs, exposures, version, null::jsonb as attributes, null as audiences from histories
union all select user_key, null, null, null, attributes, audiences from profiles`;

const profileValues = ({ userKeys, audienceIds, nowMs }: ProfileQuery): unknown[] => [
  uuids(userKeys, (key) => key),
  integers(audienceIds, (id) => id),
  nowMs / 1000,
];

const readSql = `
select user_key, opt_outs, exposures, xmin::text as version from user_history where user_key = any($1::uuid[])`;

const readWithProfilesSql = `
with histories as (
  select user_key, opt_outs, exposures, xmin::text as version from user_history where user_key = any($4::uuid[])
), ${profilesSql}
${mixedRowsSql}`;

/** Reads users' histories without locking them, with profiles if requested. New users get empty histories. */
export async function readHistories(
  executor: Executor,
  users: ReadonlyMap<string, number>,
  storedUntilMs: number,
  profiles: ProfileQuery | null,
): Promise<OpenHistories> {
  if (users.size === 0 && profiles === null) return { histories: new Map(), profileRows: null };
  const userKeys = uuids([...users.keys()], (userKey) => userKey);
  const { rows, profileRows } =
    profiles === null
      ? await queryHistories(executor, { name: 'read_histories', text: readSql, values: [userKeys] })
      : await queryWithProfiles(executor, {
          name: 'read_histories_with_profiles',
          text: readWithProfilesSql,
          values: [...profileValues(profiles), userKeys],
        });
  const rowsByKey = new Map(rows.map((row) => [row.user_key, row]));
  const histories = new Map(
    [...users].map(([userKey, publisherId]) => [
      userKey,
      openHistory(rowsByKey.get(userKey) ?? newRow(userKey), publisherId, storedUntilMs),
    ]),
  );
  return { histories, profileRows };
}

/*
 * Locks each row, whether or not it already exists, by writing it without changes. All writers lock users in key order,
 * which avoids deadlocks.
 */
const lockSql = `
insert into user_history as known (user_key, publisher_id, updated_at)
select user_key, publisher_id, to_timestamp($3::float8)
from unnest($1::uuid[], $2::integer[]) as given (user_key, publisher_id) order by user_key
on conflict (user_key) do update set updated_at = greatest(known.updated_at, excluded.updated_at)
returning user_key, opt_outs, exposures, xmin::text as version`;

const lockWithProfilesSql = `
with histories as (
  insert into user_history as known (user_key, publisher_id, updated_at)
  select user_key, publisher_id, to_timestamp($6::float8)
  from unnest($4::uuid[], $5::integer[]) as given (user_key, publisher_id) order by user_key
  on conflict (user_key) do update set updated_at = greatest(known.updated_at, excluded.updated_at)
  returning user_key, opt_outs, exposures, xmin::text as version
), ${profilesSql}
${mixedRowsSql}`;

/**
 * Times for reading histories, in epoch milliseconds. If there is an event log, its events are stored up to
 * `storedUntilMs`. Reservations made more than a minute before that time have expired.
 */
type HistoryTimes = { nowMs: number; storedUntilMs: number };

/** Reads users' histories, with profiles if requested, and locks the histories until the transaction ends. */
export async function lockHistories(
  executor: Executor,
  users: ReadonlyMap<string, number>,
  { nowMs, storedUntilMs }: HistoryTimes,
  profiles: ProfileQuery | null = null,
): Promise<OpenHistories> {
  if (users.size === 0 && profiles === null) return { histories: new Map(), profileRows: null };
  const entries = [...users];
  const values = [
    uuids(entries, ([userKey]) => userKey),
    integers(entries, ([, publisherId]) => publisherId),
    nowMs / 1000,
  ];
  const { rows, profileRows } =
    profiles === null
      ? await queryHistories(executor, { name: 'lock_histories', text: lockSql, values })
      : await queryWithProfiles(executor, {
          name: 'lock_histories_with_profiles',
          text: lockWithProfilesSql,
          values: [...profileValues(profiles), ...values],
        });
  const histories = rows.map((row) => openHistory(row, users.get(row.user_key) ?? 0, storedUntilMs));
  return { histories: new Map(histories.map((history) => [history.userKey, history])), profileRows };
}

type Statement = { name: string; text: string; values: unknown[] };
type QueriedRows = { rows: HistoryRow[]; profileRows: readonly ProfileRow[] | null };

const queryHistories = async (executor: Executor, statement: Statement): Promise<QueriedRows> => ({
  rows: (await executor.query<HistoryRow>(statement)).rows,
  profileRows: null,
});

/** History row, or a profile row, which has no version. */
type MixedRow = HistoryRow | (ProfileRow & { version: null });

async function queryWithProfiles(executor: Executor, statement: Statement): Promise<QueriedRows> {
  const { rows } = await executor.query<MixedRow>(statement);
  return {
    rows: rows.filter((row): row is HistoryRow => row.version !== null),
    profileRows: rows.filter((row): row is ProfileRow & { version: null } => row.version === null),
  };
}

/** Loads the opt-outs of users, by user key. */
export async function loadOptOuts(executor: Executor, userKeys: readonly string[]): Promise<Map<string, OptOuts>> {
  if (userKeys.length === 0) return new Map();
  const { rows } = await executor.query<{ user_key: string; opt_outs: OptOuts }>({
    name: 'load_opt_outs',
    text: 'select user_key, opt_outs from user_history where user_key = any($1::uuid[])',
    values: [uuids(userKeys, (key) => key)],
  });
  return new Map(rows.map((row) => [row.user_key, row.opt_outs]));
}

const newRow = (userKey: string): HistoryRow => ({
  user_key: userKey,
  opt_outs: noHistory.optOuts,
  exposures: Buffer.alloc(0),
  version: '0',
});

function openHistory(row: HistoryRow, publisherId: number, storedUntilMs: number): OpenHistory {
  const { exposures, reserved, stale } = readRecords(row.exposures, storedUntilMs);
  return {
    userKey: row.user_key,
    publisherId,
    optOuts: row.opt_outs,
    exposures,
    reserved,
    added: [],
    version: Number(row.version),
    isBloated: stale > maxStale || exposures.length > 2 * maxSingle,
  };
}

/** Returns a history as needed for a decision. A reserved impression counts like a recorded one. */
export const historyOf = ({ optOuts, exposures, reserved }: OpenHistory): UserHistory => ({
  optOuts,
  exposures: reserved.length === 0 ? [...exposures] : [...exposures, ...reserved.map(({ exposure }) => exposure)],
});

/** Adds a reservation to a history, for the impression of an offer that is about to be shown. */
export function reserveImpression(history: OpenHistory, sessionId: string, impression: Omit<Exposure, 'event'>): void {
  const exposure: Exposure = { event: 'impression', ...impression };
  const record = reservedRecord(exposure, sessionId);
  history.reserved.push({ exposure, record });
  history.added.push(record);
}

const saveSql = `
update user_history set exposures = given.exposures
from unnest($1::uuid[], $2::bytea[]) as given (user_key, exposures)
where user_history.user_key = given.user_key`;

/** Rewrites the changed histories. Their rows must be locked. */
export async function saveHistories(
  executor: Executor,
  histories: Iterable<OpenHistory>,
  nowMs: number,
): Promise<void> {
  const changed = [...histories].filter(({ added, isBloated }) => added.length > 0 || isBloated);
  if (changed.length === 0) return;
  const recordsOf = ({ exposures, reserved }: OpenHistory): Buffer[] => [
    ...trimExposures(exposures, nowMs).map((exposure) => exposureRecord(exposure, null)),
    ...reserved.map(({ record }) => record),
  ];
  await executor.query({
    name: 'save_histories',
    text: saveSql,
    values: [uuids(changed, ({ userKey }) => userKey), byteas(changed, (history) => Buffer.concat(recordsOf(history)))],
  });
}

/** Limits the size of a history by merging old or surplus exposures by offer and event. Pure function. */
export function trimExposures(exposures: readonly Exposure[], nowMs: number): readonly Exposure[] {
  const oldMs = nowMs - longestWindowMs;
  const sorted = exposures.toSorted((a, b) => b.atMs - a.atMs);
  const isSingle = ({ atMs }: Exposure, index: number): boolean => index < maxSingle && atMs > oldMs;
  if (sorted.every(isSingle)) return exposures;
  const merged = new Map<string, Exposure>();
  const single = sorted.filter((exposure, index) => {
    if (isSingle(exposure, index)) return true;
    const key = `${exposure.event} ${exposure.offerId}`;
    const newer = merged.get(key);
    if (newer === undefined) merged.set(key, exposure);
    else merged.set(key, { ...newer, count: (newer.count ?? 1) + (exposure.count ?? 1) });
    return false;
  });
  return [...merged.values(), ...single].toReversed();
}
