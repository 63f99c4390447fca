import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { uuids } from '../../platform/db/binary-array.ts';
import { breakConnections, createPool, type Executor, transaction } from '../../platform/db/pool.ts';
import type { ServerUrl } from '../../platform/db/servers.ts';
import { minuteMs } from '../../platform/lib/time.ts';
import { changeSizes } from '../members/members.ts';
import { factsSql, type Rule } from './rule.ts';

type Followed = { id: number; publisherId: number; rule: Rule };

/*
 * SQL that selects the next audience with a rule and locks it until the end of the transaction. As a result, only one
 * process at a time updates an audience, and concurrent changes and removals wait. Transactions that only refer to the
 * audience do not wait.
 */
const nextSql = `
select id, publisher_id as "publisherId", rule from audiences
where id > $1 and rule is not null order by id limit 1 for no key update skip locked`;

/*
 * SQL that reads the progress of an audience, if it belongs to the current rule. It runs after the audience is locked,
 * so that it sees the progress that the previous process stored. Later statements see all rows written by transactions
 * with IDs below `until`.
 */
const progressSql = `
select pg_snapshot_xmin(pg_current_snapshot())::text as until,
  (select read_until::text from audience_progress where audience_id = $1 and rule = $2::jsonb
    and read_until <= pg_snapshot_xmin(pg_current_snapshot())) as "from"`;

type FollowDeps = { pool: pg.Pool; url: ServerUrl; now: () => number };
type IsStopped = () => boolean;

/** Updates every audience that has a rule. Each new user action is counted exactly once. */
export async function followRules({ pool, url, now }: FollowDeps, isStopped: IsStopped = () => false): Promise<void> {
  for (let after: number | null = 0; after !== null && !isStopped(); ) {
    const last: number = after;
    const next = await followNext(pool, last, { nowMs: now(), fills: false });
    const fill = (patient: pg.Pool) => followNext(patient, last, { nowMs: now(), fills: true });
    const done = next?.isNew === true ? await withPatience(url, isStopped, fill) : next;
    after = done?.id ?? null;
  }
}

/** Timeout of the statement that fills an audience from all stored actions, in milliseconds. */
const fillTimeoutMs = 10 * minuteMs;

/** Interval for checking whether the process is stopping, in milliseconds. */
const stopCheckMs = 500;

/**
 * Runs `work` on a dedicated connection with a long statement timeout. Closes the connection when the process stops.
 */
async function withPatience<T>(url: ServerUrl, isStopped: IsStopped, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const options = { size: 1, applicationName: 'perkwire-audiences', queryTimeoutMs: fillTimeoutMs };
  const pool = createPool({ url, ...options, onError: () => {} });
  try {
    const result = work(pool);
    const isDone = result.then(
      () => true,
      () => true,
    );
    while (!(await Promise.race([isDone, sleep(stopCheckMs, false, { ref: false })])))
      if (isStopped()) breakConnections(pool);
    return await result;
  } finally {
    await pool.end();
  }
}

/**
 * Updates the next audience that has a rule.
 * @param fills whether to fill new audiences too, which may take a long time
 * @returns the audience ID and whether it still has to be filled; null if there are no more audiences
 */
const followNext = (
  pool: pg.Pool,
  after: number,
  { nowMs, fills }: { nowMs: number; fills: boolean },
): Promise<{ id: number; isNew: boolean } | null> =>
  transaction(pool, async (executor) => {
    const { rows } = await executor.query<Followed>(nextSql, [after]);
    const [audience] = rows;
    if (audience === undefined) return null;
    const progress = await readProgress(executor, audience);
    const isNew = progress.from === null && !fills;
    if (!isNew) await follow(executor, audience, { ...progress, nowMs });
    return { id: audience.id, isNew };
  });

async function readProgress(executor: Executor, { id, rule }: Followed): Promise<Omit<Range, 'nowMs'>> {
  const { rows } = await executor.query<Omit<Range, 'nowMs'>>(progressSql, [id, JSON.stringify(rule)]);
  return rows[0] as Omit<Range, 'nowMs'>;
}

async function follow(executor: Executor, followed: Followed, range: Range): Promise<void> {
  const { id, rule } = followed;
  const { from, until } = range;
  if (from === until) return;
  const gone = from === null ? await forget(executor, id) : 0;
  const users = await storeFacts(executor, followed, range);
  const joined = users?.length === 0 ? 0 : await join(executor, id, rule, users);
  await executor.query(
    `insert into audience_progress (audience_id, rule, read_until) values ($1, $2, $3::xid8)
    on conflict (audience_id) do update set rule = excluded.rule, read_until = excluded.read_until`,
    [id, JSON.stringify(rule), until],
  );
  await changeSizes(executor, new Map([[id, joined - gone]]));
}

/**
 * Deletes an audience's facts and members that were found by another rule or that date from before a restore.
 * @returns number of members removed
 */
async function forget(executor: Executor, id: number): Promise<number> {
  await executor.query('delete from audience_facts where audience_id = $1', [id]);
  const { rowCount } = await executor.query('delete from audience_members where audience_id = $1', [id]);
  return rowCount ?? 0;
}

/** Range of transaction IDs to read. If `from` is null, reading starts at the first stored row. */
type Range = { from: string | null; until: string; nowMs: number };

/**
 * Stores new facts.
 * @returns the users with new facts, or null if all users with facts must be checked
 */
async function storeFacts(
  executor: Executor,
  { id, publisherId, rule }: Followed,
  { from, until, nowMs }: Range,
): Promise<string[] | null> {
  const values: unknown[] = [id, until];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const after = from === null ? null : parameter(from);
  const written = (column: string): string =>
    `xid8send(${column}) < (select xid8send($2::xid8))${
      after === null ? '' : ` and xid8send(${column}) >= (select xid8send(${after}::xid8))`
    }`;
  const facts = factsSql(rule, publisherId, nowMs, parameter, written);
  const insert = `insert into audience_facts (audience_id, user_key, at)
    select $1::integer, user_key, at from (${facts}) f`;
  if (from === null) {
    await executor.query(insert, values);
    return null;
  }
  const { rows } = await executor.query<{ user_key: string }>(
    `with taken as (${insert} returning user_key) select distinct user_key from taken`,
    values,
  );
  return rows.map(({ user_key: key }) => key);
}

/*
 * Users with enough actions become members. A membership ends a number of days after the oldest of the latest actions
 * that the rule requires, so that it expires without another run.
 */
const joinSql = `
with joined as (
  insert into audience_members as known (user_key, audience_id, expires_at)
  select user_key, $1::integer, at + make_interval(days => $4) from (
    select user_key, at, row_number() over (partition by user_key order by at desc) as nth
    from audience_facts where audience_id = $1 and ($2::uuid[] is null or user_key = any($2::uuid[]))
  ) ranked where nth = $3 order by user_key
  on conflict (user_key, audience_id) do update set expires_at = excluded.expires_at
  returning xmax = 0 as is_new
)
select count(*) filter (where is_new)::int as count from joined`;

/**
 * Adds the users who have enough facts.
 * @returns number of new members
 */
async function join(executor: Executor, id: number, rule: Rule, users: readonly string[] | null): Promise<number> {
  const { times = 1, within_days: days } = rule;
  const keys = users === null ? null : uuids(users, (key) => key);
  const { rows } = await executor.query<{ count: number }>(joinSql, [id, keys, times, days]);
  return rows[0]?.count ?? 0;
}

/** Deletes facts that are too old to count for their rule. */
export async function deleteOldFacts(executor: Executor, nowMs: number): Promise<number> {
  const { rowCount } = await executor.query(
    `delete from audience_facts f using audiences a
    where a.id = f.audience_id and f.at < $1::timestamptz - make_interval(days => (a.rule ->> 'within_days')::int)`,
    [new Date(nowMs)],
  );
  return rowCount ?? 0;
}
