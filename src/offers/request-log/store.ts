import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, minuteMs } from '../../platform/lib/time.ts';

type StoredDetail = { path: string; message: string };

/** Masked call with its response. */
export type LiveCall = {
  method: string;
  /** Request path without the query. */
  path: string;
  status: number;
  /** Time between receiving the request and sending the response, in milliseconds. */
  ms: number;
  query: unknown;
  body: unknown;
  answer: unknown;
  /** Error code and messages of a rejected call. The messages are in their stored form. */
  error: { code: string; message: string; details?: readonly StoredDetail[] } | null;
  /** Notices about ignored and dropped values, in their stored form. */
  notes: readonly StoredDetail[];
  /** ID of the session that a fetch created, or that a perks call refers to. */
  sessionId: string | null;
};

/** Whether the call created its session. Perks calls only refer to an existing session. */
export const isFetch = ({ path, sessionId }: LiveCall): boolean => sessionId !== null && path.startsWith('/native/');

export const isRefused = (status: number): boolean => status >= 400;

export type LoggedCall = { id: string; at: Date; call: LiveCall };

/**
 * Notice about a field that was ignored, dropped or refused, with the number of affected requests. `message` is the
 * stored form of the reason. Field values are not stored.
 */
export type Notice = { path: string; message: string; refused: boolean; count: number; lastAt: Date };

type OfPublisher<Entry> = Entry & { publisherId: number };

/**
 * Retention of calls, in milliseconds. Refused calls are retained longer, because they are logged even while nobody is
 * watching.
 */
const keptMs = 10 * minuteMs;
export const refusedKeptMs = 60 * minuteMs;
/** Retention of notices, in milliseconds. `maxNotices` limits how many notices are stored per publisher. */
const noticesKeptMs = dayMs;
const maxNotices = 100;

export async function writeWatch(executor: Executor, publisherId: number, untilMs: number): Promise<void> {
  await executor.query(
    `insert into live_watches (publisher_id, until) values ($1, $2)
    on conflict (publisher_id) do update set until = greatest(live_watches.until, excluded.until)`,
    [publisherId, new Date(untilMs)],
  );
}

/** Returns the end time of the watch on each watched publisher. */
export async function readWatched(executor: Executor, nowMs: number): Promise<Map<number, number>> {
  const { rows } = await executor.query<{ publisher_id: number; until: Date }>({
    name: 'live_watches',
    text: 'select publisher_id, until from live_watches where until > $1',
    values: [new Date(nowMs)],
  });
  return new Map(rows.map(({ publisher_id: publisherId, until }) => [publisherId, until.getTime()]));
}

export async function writeCalls(
  executor: Executor,
  calls: readonly OfPublisher<LoggedCall>[],
  nowMs: number,
): Promise<void> {
  // A call is stored as JSON text, because it may contain characters that PostgreSQL's JSON type cannot store.
  const rows = calls.map(({ call, ...row }) => ({
    ...row,
    call: JSON.stringify(call),
    refused: isRefused(call.status),
  }));
  await executor.query(
    `insert into live_calls (publisher_id, id, at, call, refused)
    select * from json_to_recordset($1::json) as given
      ("publisherId" integer, id uuid, at timestamptz, call text, refused boolean)`,
    [JSON.stringify(rows)],
  );
  await deleteOldCalls(executor, nowMs);
}

async function deleteOldCalls(executor: Executor, nowMs: number): Promise<void> {
  await executor.query(
    `delete from live_calls where id = any(array(
      select id from live_calls where at < $1 and (not refused or at < $2) for update skip locked
    ))`,
    [new Date(nowMs - keptMs), new Date(nowMs - refusedKeptMs)],
  );
}

type CallQuery = { sinceMs: number; refusedSinceMs?: number; except: readonly string[]; limit: number };

/**
 * Reads a publisher's latest calls, oldest first: all calls since one time, and refused calls since another. Calls with
 * the given IDs are excluded.
 */
export async function readCalls(
  executor: Executor,
  publisherId: number,
  { sinceMs, refusedSinceMs = sinceMs, except, limit }: CallQuery,
): Promise<LoggedCall[]> {
  const { rows } = await executor.query<{ id: string; at: Date; call: string }>({
    name: 'live_calls',
    text: `select id, at, call from (
        select id, at, call from live_calls
        where publisher_id = $1 and at >= least($2, $5::timestamptz) and (at >= $2 or refused)
          and id <> all($3::uuid[])
        order by at desc, id desc limit $4
      ) as latest order by at, id`,
    values: [publisherId, new Date(sinceMs), except, limit, new Date(refusedSinceMs)],
  });
  return rows.map(({ call, ...row }) => ({ ...row, call: JSON.parse(call) as LiveCall }));
}

/**
 * Adds counts to the stored notices and keeps only each publisher's newest notices. The list must not contain the same
 * path and message twice.
 */
export async function writeNotices(executor: Executor, notices: readonly OfPublisher<Notice>[]): Promise<void> {
  // Rows are sorted by key, so that two processes writing the same rows lock them in the same order.
  await executor.query(
    `insert into request_notices as stored (publisher_id, path, message, refused, count, last_at)
    select * from json_to_recordset($1::json) as given
      ("publisherId" integer, path text, message text, refused boolean, count bigint, "lastAt" timestamptz)
    order by 1, 2, 3
    on conflict (publisher_id, path, message) do update set
      count = stored.count + excluded.count, last_at = greatest(stored.last_at, excluded.last_at)`,
    [JSON.stringify(notices)],
  );
  await executor.query(
    `delete from request_notices where (publisher_id, path, message) in (
      select n.publisher_id, n.path, n.message
      from unnest($1::integer[]) as of (publisher_id)
      cross join lateral (
        select * from request_notices n
        where n.publisher_id = of.publisher_id
        order by n.last_at desc, n.path, n.message
        offset ${maxNotices}
        for update skip locked
      ) n
    )`,
    [[...new Set(notices.map(({ publisherId }) => publisherId))]],
  );
}

/** Returns a publisher's notices, newest first. */
export async function findNotices(executor: Executor, publisherId: number, nowMs: number): Promise<Notice[]> {
  const { rows } = await executor.query<Notice>({
    name: 'live_notices',
    text: `select path, message, refused, count::float8 as count, last_at as "lastAt" from request_notices
      where publisher_id = $1 and last_at >= $2 order by last_at desc, path, message`,
    values: [publisherId, new Date(nowMs - noticesKeptMs)],
  });
  return rows;
}

/** Returns the number of a publisher's refused calls that are still stored. */
export async function countRefused(executor: Executor, publisherId: number, nowMs: number): Promise<number> {
  const { rows } = await executor.query<{ count: number }>({
    name: 'live_refused',
    text: 'select count(*)::int as count from live_calls where publisher_id = $1 and at >= $2 and refused',
    values: [publisherId, new Date(nowMs - refusedKeptMs)],
  });
  return rows[0]?.count ?? 0;
}

/** Deletes expired calls, watches and notices. */
export async function deleteOldRequests(executor: Executor, nowMs: number): Promise<void> {
  await deleteOldCalls(executor, nowMs);
  await executor.query('delete from live_watches where until < $1', [new Date(nowMs - keptMs)]);
  await executor.query('delete from request_notices where last_at < $1', [new Date(nowMs - noticesKeptMs)]);
}
