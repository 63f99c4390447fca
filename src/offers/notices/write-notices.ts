import type { Executor } from '../../platform/db/pool.ts';
import { dayMs } from '../../platform/lib/time.ts';

export type Notice = {
  publisherId: number;
  path: string;
  /** Stored form of the problem. */
  message: string;
  refused: boolean;
  count: number;
  lastAtMs: number;
};

/** Maximum number of stored notices of a publisher, and their retention (milliseconds). */
const maxKept = 100;
const keptMs = dayMs;

/** Maximum lengths of texts (characters), as in the table. */
const maxPath = 200;
const maxMessage = 500;

/** Rows are sorted by key, so that two processes that write the same rows lock them in a consistent order. */
const insertSql = `
insert into request_notices (publisher_id, path, message, refused, count, last_at)
select publisher_id, path, message, bool_or(refused), sum(count), max(last_at)
from unnest($1::integer[], $2::text[], $3::text[], $4::boolean[], $5::bigint[], $6::timestamptz[])
  as given (publisher_id, path, message, refused, count, last_at)
group by publisher_id, path, message
order by publisher_id, path, message
on conflict (publisher_id, path, message) do update set
  count = request_notices.count + excluded.count,
  last_at = greatest(request_notices.last_at, excluded.last_at)`;

const trimSql = `
delete from request_notices where (publisher_id, path, message) in (
  select n.publisher_id, n.path, n.message
  from unnest($1::integer[]) as of (publisher_id)
  cross join lateral (
    select * from request_notices n
    where n.publisher_id = of.publisher_id
    order by n.last_at desc, n.path, n.message
    offset ${maxKept}
    for update skip locked
  ) n
)`;

/** Adds notices to the stored ones, and keeps only each publisher's newest. */
export async function writeNotices(executor: Executor, notices: readonly Notice[]): Promise<void> {
  await executor.query(insertSql, [
    notices.map(({ publisherId }) => publisherId),
    notices.map(({ path }) => cut(path, maxPath)),
    notices.map(({ message }) => cut(message, maxMessage)),
    notices.map(({ refused }) => refused),
    notices.map(({ count }) => count),
    notices.map(({ lastAtMs }) => new Date(lastAtMs)),
  ]);
  await executor.query(trimSql, [[...new Set(notices.map(({ publisherId }) => publisherId))]]);
}

export async function deleteOldNotices(executor: Executor, nowMs: number): Promise<void> {
  await executor.query('delete from request_notices where last_at < $1', [new Date(nowMs - keptMs)]);
}

const cut = (text: string, length: number): string =>
  [...text.toWellFormed().replaceAll('\0', '\ufffd')].slice(0, length).join('');
