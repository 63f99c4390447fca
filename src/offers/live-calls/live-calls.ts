import type { Executor } from '../../platform/db/pool.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { getOrInsert } from '../../platform/lib/get-or-insert.ts';
import { minuteMs } from '../../platform/lib/time.ts';
import { newUuid7 } from '../../platform/lib/uuid7.ts';

/** A call with its answer, masked. */
export type LiveCall = {
  method: string;
  /** Without its query. */
  path: string;
  status: number;
  /** Of the service, until the answer was sent (milliseconds). */
  ms: number;
  query: unknown;
  body: unknown;
  answer: unknown;
  /** Code and message of a refusal. */
  error: { code: string; message: string; details?: readonly ErrorDetail[] } | null;
  /** What was ignored or dropped. */
  notes: readonly ErrorDetail[];
  sessionId: string | null;
};

/**
 * Calls of publishers that are being watched (docs/interface.md#live-calls). Any process may take a call and any other
 * show it: who is watched stands in a table that all of them read, and calls are written in groups by a background job.
 */
export type LiveCalls = {
  isAnyWatched: () => boolean;
  isWatched: (publisherId: number) => boolean;
  /** @param read called where there is room for the call */
  add: (publisherId: number, read: () => LiveCall) => void;
  /** Has the calls of a publisher recorded by all processes for the next seconds; repeated while they are shown. */
  watch: (executor: Executor, publisherId: number) => Promise<void>;
  /** Writes what was recorded and learns who is watched. What cannot be written is lost. */
  sync: (executor: Executor) => Promise<void>;
};

/** A page that is open asks again before this is over (milliseconds). */
const watchMs = 15_000;
/** Calls recorded of one publisher between two writes (count). */
const maxOfPublisher = 25;
/** Calls are kept this long (milliseconds). */
const keptMs = 10 * minuteMs;

type Row = { id: string; publisherId: number; atMs: number; call: LiveCall };

export function createLiveCalls(now: () => number): LiveCalls {
  let watched = new Map<number, number>();
  let rows: Row[] = [];
  let counts = new Map<number, number>();
  return {
    isAnyWatched: () => watched.size > 0,
    isWatched: (publisherId) => (watched.get(publisherId) ?? 0) > now(),
    add: (publisherId, read) => {
      const count = getOrInsert(counts, publisherId, () => 0);
      if (count >= maxOfPublisher) return;
      counts.set(publisherId, count + 1);
      const atMs = now();
      rows.push({ id: newUuid7(atMs), publisherId, atMs, call: read() });
    },
    watch: async (executor, publisherId) => {
      const untilMs = now() + watchMs;
      watched.set(publisherId, untilMs);
      await executor.query(watchSql, [publisherId, new Date(untilMs)]);
    },
    sync: async (executor) => {
      const recorded = rows;
      rows = [];
      counts = new Map();
      if (recorded.length > 0) await writeCalls(executor, recorded, now());
      const read = await readWatched(executor, now());
      // What this process began to watch while the database was asked.
      for (const [publisherId, untilMs] of watched)
        if (untilMs > Math.max(now(), read.get(publisherId) ?? 0)) read.set(publisherId, untilMs);
      watched = read;
    },
  };
}

const watchSql = `
insert into live_watches (publisher_id, until) values ($1, $2)
on conflict (publisher_id) do update set until = greatest(live_watches.until, excluded.until)`;

async function readWatched(executor: Executor, nowMs: number): Promise<Map<number, number>> {
  const { rows } = await executor.query<{ publisher_id: number; until: Date }>({
    name: 'live_watches',
    text: 'select publisher_id, until from live_watches where until > $1',
    values: [new Date(nowMs)],
  });
  return new Map(rows.map(({ publisher_id: publisherId, until }) => [publisherId, until.getTime()]));
}

async function writeCalls(executor: Executor, rows: readonly Row[], nowMs: number): Promise<void> {
  await executor.query(
    `insert into live_calls (id, publisher_id, at, call)
    select * from unnest($1::uuid[], $2::integer[], $3::timestamptz[], $4::text[])`,
    [
      rows.map(({ id }) => id),
      rows.map(({ publisherId }) => publisherId),
      rows.map(({ atMs }) => new Date(atMs)),
      rows.map(({ call }) => JSON.stringify(call)),
    ],
  );
  await deleteOldCalls(executor, nowMs);
}

export async function deleteOldCalls(executor: Executor, nowMs: number): Promise<void> {
  const before = [new Date(nowMs - keptMs)];
  await executor.query(
    `delete from live_calls where id = any(array(select id from live_calls where at < $1 for update skip locked))`,
    before,
  );
  await executor.query(
    `delete from live_watches where publisher_id = any(array(
      select publisher_id from live_watches where until < $1 for update skip locked
    ))`,
    before,
  );
}

/** Calls of a publisher since a time, except those of the given ids, oldest first. */
export async function readCalls(
  executor: Executor,
  publisherId: number,
  { sinceMs, except, limit }: { sinceMs: number; except: readonly string[]; limit: number },
): Promise<{ id: string; at: Date; call: LiveCall }[]> {
  const { rows } = await executor.query<{ id: string; at: Date; call: string }>({
    name: 'live_calls',
    text: `select id, at, call from live_calls
      where publisher_id = $1 and at >= $2 and id <> all($3::uuid[]) order by at, id limit $4`,
    values: [publisherId, new Date(sinceMs), except, limit],
  });
  return rows.map(({ call, ...row }) => ({ ...row, call: JSON.parse(call) as LiveCall }));
}
