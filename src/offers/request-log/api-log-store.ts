import type pg from 'pg';
import { dropPartitions } from '../../platform/db/partitions.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { dayMs, dayOf, hourMs } from '../../platform/lib/time.ts';
import { dayOfUuid7 } from '../../platform/lib/uuid7.ts';

/** Stored call. `code` is the error code of a rejected call, or empty. */
export type ApiCall = {
  id: string;
  publisherId: number;
  atMs: number;
  method: string;
  /** Route pattern, such as `/manage/v1/offers/:id`. */
  route: string;
  path: string;
  status: number;
  ms: number;
  code: string;
  fields: readonly string[];
  requestId: string;
  keyId: number | null;
};

/** Number of calls with the same route and result. */
export type ApiCallCount = {
  publisherId: number;
  method: string;
  route: string;
  status: number;
  code: string;
  calls: number;
  slow: number;
  ms: number;
  firstMs: number;
  lastMs: number;
};

/** Retention of the API log, in days. */
export const apiLogDays = 30;

export async function writeApiCalls(executor: Executor, calls: readonly ApiCall[]): Promise<void> {
  const rows = calls.map(({ id, atMs, fields, code, ...row }) => ({
    ...row,
    id,
    day: dayOfUuid7(id),
    at: new Date(atMs),
    code: code === '' ? null : code,
    fields: [...fields],
  }));
  await executor.query(
    `insert into api_calls
      (day, id, publisher_id, at, method, route, path, status, ms, code, fields, request_id, key_id)
    select day, id, "publisherId", at, method, route, path, status, ms, code, fields, "requestId", "keyId"
    from json_to_recordset($1::json) as given
      (day date, id uuid, "publisherId" integer, at timestamptz, method text, route text, path text, status smallint,
        ms real, code text, fields text[], "requestId" text, "keyId" integer)`,
    [JSON.stringify(rows)],
  );
}

/** Adds counts to the hourly totals. The list must not contain the same publisher, route and result twice. */
export async function writeCounts(executor: Executor, counts: readonly ApiCallCount[]): Promise<void> {
  const rows = counts.map(({ firstMs, lastMs, ...row }) => ({
    ...row,
    hour: new Date(lastMs - (lastMs % hourMs)),
    firstAt: new Date(firstMs),
    lastAt: new Date(lastMs),
  }));
  // Rows are sorted by key, so that two processes writing the same rows lock them in the same order.
  await executor.query(
    `insert into api_call_counts as stored
      (publisher_id, hour, method, route, status, code, calls, slow, ms, first_at, last_at)
    select * from json_to_recordset($1::json) as given
      ("publisherId" integer, hour timestamptz, method text, route text, status smallint, code text, calls bigint,
        slow bigint, ms double precision, "firstAt" timestamptz, "lastAt" timestamptz)
    order by 1, 2, 3, 4, 5, 6
    on conflict (publisher_id, hour, method, route, status, code) do update set
      calls = stored.calls + excluded.calls, slow = stored.slow + excluded.slow, ms = stored.ms + excluded.ms,
      first_at = least(stored.first_at, excluded.first_at), last_at = greatest(stored.last_at, excluded.last_at)`,
    [JSON.stringify(rows)],
  );
}

/** Filter of the API log. Null fields match all calls. */
export type ApiLogFilter = {
  publisherId: number;
  sinceMs: number;
  /** Status such as `404` or `4xx`, or `slow`. */
  status: string | null;
  code: string | null;
  /** Route pattern. */
  route: string | null;
  keyId: number | null;
  requestId: string | null;
};

/** Returns SQL for the filter conditions that both tables support, and appends their parameters to `values`. */
function conditionsOf({ status, code, route }: ApiLogFilter, values: unknown[], slow: string): string {
  const conditions: string[] = [];
  const add = (condition: (place: string) => string, value: unknown): void => {
    values.push(value);
    conditions.push(`and ${condition(`$${values.length}`)}`);
  };
  if (status === 'slow') conditions.push(`and ${slow}`);
  else if (status?.endsWith('xx')) add((place) => `status / 100 = ${place}::int`, Number(status[0]));
  else if (status !== null) add((place) => `status = ${place}::int`, Number(status));
  if (code !== null) add((place) => `code = ${place}`, code);
  if (route !== null) add((place) => `route = ${place}`, route);
  return conditions.join(' ');
}

export type StoredCall = {
  id: string;
  at: Date;
  method: string;
  route: string;
  path: string;
  status: number;
  ms: number;
  code: string | null;
  fields: string[];
  requestId: string;
  keyId: number | null;
};

/**
 * Reads calls, newest first.
 * @param before ID of the last call of the previous page, or null
 * @param slowMs duration from which a call is slow, in milliseconds
 */
export async function findApiCalls(
  executor: Executor,
  filter: ApiLogFilter,
  { before, limit, slowMs }: { before: string | null; limit: number; slowMs: number },
): Promise<StoredCall[]> {
  const values: unknown[] = [filter.publisherId, dayOf(filter.sinceMs), new Date(filter.sinceMs), limit];
  const shared = conditionsOf(filter, values, `ms >= ${slowMs}`);
  const own: string[] = [];
  const add = (condition: (place: string) => string, value: unknown): void => {
    values.push(value);
    own.push(`and ${condition(`$${values.length}`)}`);
  };
  if (before !== null) {
    add((place) => `day <= ${place}::date`, dayOfUuid7(before));
    add((place) => `id < ${place}::uuid`, before);
  }
  if (filter.keyId !== null) add((place) => `key_id = ${place}`, filter.keyId);
  if (filter.requestId !== null) add((place) => `request_id = ${place}`, filter.requestId);
  const { rows } = await executor.query<StoredCall>(
    `select id, at, method, route, path, status, ms, code, fields, request_id as "requestId", key_id as "keyId"
    from api_calls where publisher_id = $1 and day >= $2::date and at >= $3 ${shared} ${own.join(' ')}
    order by day desc, id desc limit $4`,
    values,
  );
  return rows;
}

/** Calls with the same route and result. `days` has the number of calls per day, oldest first. */
export type CallGroup = {
  method: string;
  route: string;
  status: number;
  code: string | null;
  calls: number;
  slow: number;
  averageMs: number;
  firstAt: Date;
  lastAt: Date;
  days: number[];
};

/**
 * Counts calls by route and result, rejected ones first, then the most frequent ones. Ignores the key and the request
 * ID in the filter.
 * @param onlyProblems whether to leave out accepted calls that were not slow
 */
export async function findCallGroups(
  executor: Executor,
  filter: ApiLogFilter,
  { untilMs, limit, onlyProblems }: { untilMs: number; limit: number; onlyProblems: boolean },
): Promise<CallGroup[]> {
  const sinceHour = new Date(filter.sinceMs - (filter.sinceMs % hourMs));
  const lastDay = Math.round((untilMs - filter.sinceMs) / dayMs) - 1;
  const values: unknown[] = [filter.publisherId, sinceHour, new Date(untilMs), limit, onlyProblems, lastDay];
  const shared = conditionsOf(filter, values, 'slow > 0');
  const { rows } = await executor.query<Omit<CallGroup, 'days'> & { byDay: Record<string, number> }>(
    `with daily as (
      select method, route, status, code, 
        least(floor(extract(epoch from $3 - hour) / 86400)::int, $6) as number,
        sum(calls) as calls, sum(slow) as slow, sum(ms) as ms, min(first_at) as first_at, max(last_at) as last_at
      from api_call_counts
      where publisher_id = $1 and hour >= $2 and hour <= $3 and (not $5 or status >= 400 or slow > 0) ${shared}
      group by 1, 2, 3, 4, 5
    ), top as (
      select method, route, status, code, sum(calls) as calls, sum(slow) as slow, sum(ms) as ms,
        min(first_at) as first_at, max(last_at) as last_at
      from daily group by 1, 2, 3, 4
      order by status >= 400 desc, calls desc, method, route, status, code limit $4
    )
    select top.method, top.route, top.status, nullif(top.code, '') as code, top.calls::float8 as calls,
      top.slow::float8 as slow, top.ms / top.calls as "averageMs", top.first_at as "firstAt", top.last_at as "lastAt",
      (
        select json_object_agg(daily.number, daily.calls) from daily
        where (daily.method, daily.route, daily.status, daily.code) = (top.method, top.route, top.status, top.code)
      ) as "byDay"
    from top order by top.status >= 400 desc, top.calls desc, top.method, top.route, top.status, top.code`,
    values,
  );
  return rows.map(({ byDay, ...group }) => ({
    ...group,
    days: Array.from({ length: lastDay + 1 }, (_, at) => byDay[lastDay - at] ?? 0),
  }));
}

/** Deletes expired calls and counts. */
export async function deleteOldApiCalls(pool: pg.Pool, nowMs: number): Promise<void> {
  const keepFrom = nowMs - apiLogDays * dayMs;
  await dropPartitions(pool, ['api_calls'], dayOf(keepFrom));
  await pool.query('delete from api_call_counts where hour < $1', [new Date(keepFrom)]);
}
