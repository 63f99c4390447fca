import type { Executor } from '../../platform/db/pool.ts';
import { minuteMs } from '../../platform/lib/time.ts';

type StoredDetail = { path: string; message: string };

/** A call with its response, masked. */
export type LiveCall = {
  method: string;
  /** Path without the query. */
  path: string;
  status: number;
  /** Duration in the service until the response was sent (milliseconds). */
  ms: number;
  query: unknown;
  body: unknown;
  answer: unknown;
  /** Code and message of a rejection. */
  error: { code: string; message: string; details?: readonly StoredDetail[] } | null;
  /** Ignored and dropped values, with the stored form of their problems. */
  notes: readonly StoredDetail[];
  /** Session of a fetch, or the session that a perks call refers to. */
  sessionId: string | null;
};

/** Whether the call created its session. Perks calls only refer to one. */
export const isFetch = ({ path, sessionId }: LiveCall): boolean => sessionId !== null && path.startsWith('/native/');

/** A stored call. */
export type KeptCall = { id: string; at: Date; call: LiveCall };

export type RecordedCall = { id: string; publisherId: number; atMs: number; refused: boolean; call: LiveCall };

/**
 * Retention of calls, and of rejected calls, which is longer because they are recorded without an open page
 * (milliseconds).
 */
const keptMs = 10 * minuteMs;
export const refusedKeptMs = 60 * minuteMs;

const watchSql = `
insert into live_watches (publisher_id, until) values ($1, $2)
on conflict (publisher_id) do update set until = greatest(live_watches.until, excluded.until)`;

export async function writeWatch(executor: Executor, publisherId: number, untilMs: number): Promise<void> {
  await executor.query(watchSql, [publisherId, new Date(untilMs)]);
}

/** Reads the watched publishers, and the end of their watch. */
export async function readWatched(executor: Executor, nowMs: number): Promise<Map<number, number>> {
  const { rows } = await executor.query<{ publisher_id: number; until: Date }>({
    name: 'live_watches',
    text: 'select publisher_id, until from live_watches where until > $1',
    values: [new Date(nowMs)],
  });
  return new Map(rows.map(({ publisher_id: publisherId, until }) => [publisherId, until.getTime()]));
}

export async function writeCalls(executor: Executor, rows: readonly RecordedCall[], nowMs: number): Promise<void> {
  await executor.query(
    `insert into live_calls (id, publisher_id, at, call, refused)
    select * from unnest($1::uuid[], $2::integer[], $3::timestamptz[], $4::text[], $5::boolean[])`,
    [
      rows.map(({ id }) => id),
      rows.map(({ publisherId }) => publisherId),
      rows.map(({ atMs }) => new Date(atMs)),
      rows.map(({ call }) => JSON.stringify(call)),
      rows.map(({ refused }) => refused),
    ],
  );
  await deleteOldCalls(executor, nowMs);
}

export async function deleteOldCalls(executor: Executor, nowMs: number): Promise<void> {
  const before = [new Date(nowMs - keptMs)];
  await executor.query(
    `delete from live_calls where id = any(array(
      select id from live_calls where at < $1 and (not refused or at < $2) for update skip locked
    ))`,
    [...before, new Date(nowMs - refusedKeptMs)],
  );
  await executor.query(
    `delete from live_watches where publisher_id = any(array(
      select publisher_id from live_watches where until < $1 for update skip locked
    ))`,
    before,
  );
}

/** Reads a publisher's last calls since a time, and rejected ones since another, without given ids; oldest first. */
export async function readCalls(
  executor: Executor,
  publisherId: number,
  {
    sinceMs,
    refusedSinceMs = sinceMs,
    except,
    limit,
  }: { sinceMs: number; refusedSinceMs?: number; except: readonly string[]; limit: number },
): Promise<KeptCall[]> {
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
