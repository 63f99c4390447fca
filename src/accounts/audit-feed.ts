import type { Executor, Transaction } from '../platform/db/pool.ts';
import { actorColumns } from './audit-log.ts';

/** Destination to which new audit log entries are sent. */
export type AuditFeed = 'syslog' | 'webhooks';

/** Audit log entry. `publisher_id` is 0 for the operators' log. `at` is an ISO 8601 time, and `hash` is hexadecimal. */
export type AuditEntry = {
  publisher_id: number;
  number: number;
  at: string;
  actor_kind: string;
  actor_id: number | null;
  actor_label: string;
  action: string;
  resource: string;
  resource_id: string;
  changes: Record<string, { old: unknown; new: unknown }>;
  hash: string;
};

/** Creates a feed if it does not exist. A new feed starts after the existing entries. */
const openFeed = (executor: Executor, feed: AuditFeed): Promise<unknown> =>
  executor.query(
    `with opened as (insert into audit_feeds (name) values ($1) on conflict do nothing returning name)
    insert into audit_feed_positions (feed, publisher_id, number)
    select name, publisher_id, max(number) from opened cross join audit_log group by name, publisher_id`,
    [feed],
  );

/**
 * Locks a feed until the end of the transaction, so that no other process sends its entries.
 * @returns false if another process is sending
 */
export async function lockFeed(executor: Transaction, feed: AuditFeed): Promise<boolean> {
  await openFeed(executor, feed);
  const lock = await executor.query('select from audit_feeds where name = $1 for update skip locked', [feed]);
  return lock.rowCount === 1;
}

/**
 * Leases a feed. This is like {@link lockFeed}, but needs no open transaction. The lease ends after `leaseMs`
 * milliseconds or when `releaseFeed` is called.
 */
export async function leaseFeed(executor: Executor, feed: AuditFeed, leaseMs: number): Promise<boolean> {
  await openFeed(executor, feed);
  const leased = await executor.query(
    `update audit_feeds set leased_until = now() + $2 * interval '1 millisecond'
    where name = $1 and (leased_until is null or leased_until < now())`,
    [feed, leaseMs],
  );
  return leased.rowCount === 1;
}

/**
 * Releases a feed.
 * @param error reason why the entries could not be sent, or null on success
 */
export async function releaseFeed(executor: Executor, feed: AuditFeed, error: string | null): Promise<void> {
  await executor.query(
    `update audit_feeds set leased_until = null, error = $2,
      sent_at = case when $2::text is null then now() else sent_at end,
      failed_at = case when $2::text is not null then coalesce(failed_at, now()) end
    where name = $1`,
    [feed, error],
  );
}

/**
 * Reads the unsent entries of a feed, in order within each log. Entries are committed in the order of their numbers
 * (migrations/baseline/04-management.sql), so the last number sent is enough to resume.
 * @param reader recipient of the entries; publishers are not told which operator made a change
 */
export async function readFeed(
  executor: Executor,
  feed: AuditFeed,
  { limit, reader }: { limit: number; reader: 'publisher' | 'operator' },
): Promise<AuditEntry[]> {
  const { actor_id, actor_label } = actorColumns(reader);
  const { rows } = await executor.query<Omit<AuditEntry, 'at'> & { at: Date }>(
    `${logsSql}
    select e.* from logs
    left join audit_feed_positions position on position.feed = $1 and position.publisher_id = logs.publisher_id
    cross join lateral (
      select publisher_id, l.number::float8 as number, at, actor_kind, ${actor_id} as actor_id,
        ${actor_label} as actor_label, action, resource, resource_id, changes, encode(hash, 'hex') as hash
      from audit_log l where l.publisher_id = logs.publisher_id and l.number > coalesce(position.number, 0)
      order by l.number limit $2
    ) e
    order by e.publisher_id, e.number limit $2`,
    [feed, limit],
  );
  return rows.map((row) => ({ ...row, at: row.at.toISOString() }));
}

/**
 * Lists the publishers that have an audit log. The query jumps from one publisher to the next in the log's index,
 * instead of reading every entry.
 */
const logsSql = `with recursive logs as (
      (select publisher_id from audit_log order by publisher_id limit 1)
      union all
      select l.publisher_id from logs cross join lateral (
        select publisher_id from audit_log where publisher_id > logs.publisher_id order by publisher_id limit 1
      ) l
    )`;

/** Advances the feed past the entries that were sent. */
export async function advanceFeed(executor: Executor, feed: AuditFeed, entries: readonly AuditEntry[]): Promise<void> {
  await executor.query(
    `insert into audit_feed_positions as p (feed, publisher_id, number)
    select $1, publisher_id, max(number)::bigint
    from unnest($2::integer[], $3::float8[]) as sent (publisher_id, number) group by publisher_id order by publisher_id
    on conflict (feed, publisher_id) do update set number = excluded.number where p.number < excluded.number`,
    [feed, entries.map(({ publisher_id }) => publisher_id), entries.map(({ number }) => number)],
  );
}

/**
 * Feed state. `waiting` is the number of unsent entries, up to a limit. `failedAt` is the time when sending started to
 * fail, or null.
 */
export type FeedState = { waiting: number; sentAt: Date | null; failedAt: Date | null; error: string | null };

/** Returns the feed state, or null if the feed was never used. */
export async function readFeedState(executor: Executor, feed: AuditFeed, limit: number): Promise<FeedState | null> {
  const { rows } = await executor.query<{
    waiting: number;
    sent_at: Date | null;
    failed_at: Date | null;
    error: string | null;
  }>(
    `${logsSql}
    select sent_at, failed_at, error, (
      select count(*)::integer from (
        select from logs
        left join audit_feed_positions position on position.feed = $1 and position.publisher_id = logs.publisher_id
        join audit_log l on l.publisher_id = logs.publisher_id and l.number > coalesce(position.number, 0)
        limit $2
      ) entry
    ) as waiting
    from audit_feeds where name = $1`,
    [feed, limit],
  );
  const [row] = rows;
  return row === undefined
    ? null
    : { waiting: row.waiting, sentAt: row.sent_at, failedAt: row.failed_at, error: row.error };
}
