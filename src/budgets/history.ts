import { bigints, byteas, integers, uuids } from '../platform/db/binary-array.ts';
import type { Executor } from '../platform/db/pool.ts';
import { dayMs } from '../platform/lib/time.ts';
import { dayOfUuid7 } from '../platform/lib/uuid7.ts';
import { type Exposure, noHistory, type OptOuts, type UserHistory } from './caps.ts';
import { exposureRecord, type Reserved, readRecords, reservedRecord } from './history-records.ts';

/** The longest window of a cap (milliseconds); older exposures count for caps without a window only. */
const longestWindowMs = 180 * dayMs;

/** Exposures stored one by one (count). Older ones are merged with the time of the newest, so no cap is exceeded. */
const maxSingle = 256;

/** Records of reservations that are over (count): beyond these a history is written anew, without them. */
const maxStale = 24;

type HistoryRow = { user_key: string; opt_outs: OptOuts; exposures: Buffer; version: string };

/** A history while a batch is decided; it includes the reservations the batch has made so far. */
export type OpenHistory = {
  userKey: string;
  publisherId: number;
  optOuts: OptOuts;
  exposures: Exposure[];
  reserved: Reserved[];
  /** Records of the reservations that the batch has made. */
  added: Buffer[];
  /** The transaction that wrote the row; 0: there was none. */
  version: number;
  /** Whether it should be written anew, which needs a lock. */
  isBloated: boolean;
};

const columns = 'user_key, opt_outs, exposures, xmin::text as version';

/**
 * Other rows of the users that are read in the same statement: SQL of rows of `user_key` and `beside` (jsonb), whose
 * parameters begin with the number that it is given.
 */
export type Beside<Row = never> = {
  sql: (first: number) => string;
  values: readonly unknown[];
  take: (rows: readonly Row[]) => void;
};

async function queryHistories<Row extends { user_key: string }>(
  executor: Executor,
  { name, text, values }: { name: string; text: string; values: readonly unknown[] },
  beside: Beside<Row> | null,
): Promise<HistoryRow[]> {
  if (beside === null) return (await executor.query<HistoryRow>({ name, text, values: [...values] })).rows;
  const { rows } = await executor.query<(HistoryRow & { beside: null }) | (Row & { version: null })>({
    name: `${name}_beside`,
    text: `with histories as (${text}), beside as (${beside.sql(values.length + 1)})
      select user_key, opt_outs, exposures, version, null::jsonb as beside from histories
      union all select user_key, null, null, null, beside from beside`,
    values: [...values, ...beside.values],
  });
  beside.take(rows.filter((row): row is Row & { version: null } => row.version === null));
  return rows.filter((row): row is HistoryRow & { beside: null } => row.version !== null);
}

/*
 * Writes each row as it is, and so locks it, in the order of the keys, whether it exists or not: all writers lock users
 * in this order, which avoids deadlocks.
 */
const lockSql = `
insert into user_history as known (user_key, publisher_id, updated_at)
select user_key, publisher_id, to_timestamp($3::float8)
from unnest($1::uuid[], $2::integer[]) as given (user_key, publisher_id) order by user_key
on conflict (user_key) do update set updated_at = greatest(known.updated_at, excluded.updated_at)
returning ${columns}`;

/** `storedUntilMs`: reservations expire a minute before it; with an event log, its events are stored up to here. */
export type HistoryTimes = { nowMs: number; storedUntilMs: number };

/** Reads the histories of users and locks them until the transaction ends. */
export async function lockHistories<Row extends { user_key: string }>(
  executor: Executor,
  users: ReadonlyMap<string, number>,
  { nowMs, storedUntilMs }: HistoryTimes,
  beside: Beside<Row> | null = null,
): Promise<Map<string, OpenHistory>> {
  const given = [...users];
  const values = [
    uuids(given, ([userKey]) => userKey),
    integers(given, ([, publisherId]) => publisherId),
    nowMs / 1000,
  ];
  const rows = await queryHistories(executor, { name: 'lock_histories', text: lockSql, values }, beside);
  return new Map(rows.map((row) => [row.user_key, openHistory(row, users.get(row.user_key) ?? 0, storedUntilMs)]));
}

const lockOfSessionsSql = `
select from user_history where user_key = any(array(
  select user_key from sessions where day = any($1::date[]) and id = any($2::uuid[])
)) order by user_key for update`;

/** Locks the histories of the users of sessions, for a transaction that writes them in more than one statement. */
export async function lockUsersOf(executor: Executor, sessionIds: readonly string[]): Promise<void> {
  const values = [[...new Set(sessionIds.map(dayOfUuid7))], uuids(sessionIds, (id) => id)];
  await executor.query({ name: 'lock_users_of_sessions', text: lockOfSessionsSql, values });
}

const readSql = `select ${columns} from user_history where user_key = any($1::uuid[])`;

/** Reads the histories of users without locking them; of new users there are empty ones. */
export async function readHistories<Row extends { user_key: string }>(
  executor: Executor,
  users: ReadonlyMap<string, number>,
  storedUntilMs: number,
  beside: Beside<Row> | null = null,
): Promise<Map<string, OpenHistory>> {
  const values = [uuids([...users.keys()], (userKey) => userKey)];
  const rows = await queryHistories(executor, { name: 'read_histories', text: readSql, values }, beside);
  const found = new Map(rows.map((row) => [row.user_key, row]));
  return new Map(
    [...users].map(([userKey, publisherId]) => [
      userKey,
      openHistory(found.get(userKey) ?? newRow(userKey), publisherId, storedUntilMs),
    ]),
  );
}

const newRow = (userKey: string): HistoryRow => ({
  user_key: userKey,
  opt_outs: noHistory.optOuts,
  exposures: Buffer.alloc(0),
  version: '0',
});

/** Reads a user's history without locking it. */
export async function readHistory(executor: Executor, userKey: string, storedUntilMs: number): Promise<UserHistory> {
  const { rows } = await executor.query<HistoryRow>({ name: 'read_histories', text: readSql, values: [[userKey]] });
  return rows[0] === undefined ? noHistory : historyOf(openHistory(rows[0], 0, storedUntilMs));
}

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

/** The history as a decision sees it: a reserved impression counts like one that was seen. */
export const historyOf = ({ optOuts, exposures, reserved }: OpenHistory): UserHistory => ({
  optOuts,
  exposures: reserved.length === 0 ? [...exposures] : [...exposures, ...reserved.map(({ exposure }) => exposure)],
});

/** Reserves the impression of an offer that is about to be shown. */
export function reserveImpression(history: OpenHistory, sessionId: string, given: Omit<Exposure, 'event'>): void {
  const exposure: Exposure = { event: 'impression', ...given };
  const record = reservedRecord(exposure, sessionId);
  history.reserved.push({ exposure, record });
  history.added.push(record);
}

const saveSql = `
update user_history set exposures = given.exposures
from unnest($1::uuid[], $2::bytea[]) as given (user_key, exposures)
where user_history.user_key = given.user_key`;

/** Writes the histories that changed anew; they must be locked. */
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

/**
 * SQL that appends to histories what `appendValues` gives, where nobody has written them since they were read, and
 * returns the keys of these: others have to be locked and decided again. A history that was deleted meanwhile begins
 * anew with what is appended. Users are locked in the order of their keys, as everywhere.
 * @param first number of the first parameter
 */
export const appendSql = (first: number): string => `
insert into user_history as known (user_key, publisher_id, exposures, updated_at)
select user_key, publisher_id, exposures, to_timestamp($${first + 4}::float8)
from unnest($${first}::uuid[], $${first + 1}::integer[], $${first + 2}::bytea[])
  as given (user_key, publisher_id, exposures)
order by user_key
on conflict (user_key) do update set
  exposures = known.exposures || excluded.exposures, updated_at = greatest(known.updated_at, excluded.updated_at)
where (known.user_key, known.xmin::text::bigint) in (select unnest($${first}::uuid[]), unnest($${first + 3}::bigint[]))
returning user_key`;

export const appendValues = (changed: readonly OpenHistory[], nowMs: number): unknown[] => [
  uuids(changed, ({ userKey }) => userKey),
  integers(changed, ({ publisherId }) => publisherId),
  byteas(changed, ({ added }) => Buffer.concat(added)),
  bigints(changed, ({ version }) => version),
  nowMs / 1000,
];

/** Bounds a history: exposures that are old, or too many, are merged by offer and event. Pure. */
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
