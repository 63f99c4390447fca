import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { changeSizes } from '../members/members.ts';
import { factsSql, type Rule } from './rule.ts';

type Followed = { id: number; publisherId: number; rule: Rule };

/*
 * The next audience with a rule, locked to the end of the transaction: one process follows an audience at a time, and a
 * change or removal waits. What only refers to the audience does not.
 */
const nextSql = `
select id, publisher_id as "publisherId", rule from audiences
where id > $1 and rule is not null order by id limit 1 for no key update skip locked`;

/*
 * How far it was read, and by the rule of now or another one; read once the audience is locked, so that it is what the
 * process before has left. Rows of transactions below `until` are there for every later statement.
 */
const progressSql = `
select pg_snapshot_xmin(pg_current_snapshot())::text as until,
  (select read_until::text from audience_progress where audience_id = $1 and rule = $2::jsonb
    and read_until <= pg_snapshot_xmin(pg_current_snapshot())) as "from"`;

/** Takes what users did since into every audience with a rule, exactly once. */
export async function followRules(pool: pg.Pool, nowMs: number, isStopped: () => boolean = () => false): Promise<void> {
  for (let after: number | null = 0; after !== null && !isStopped(); ) {
    const last: number = after;
    after = await transaction(pool, async (executor) => {
      const { rows } = await executor.query<Followed>(nextSql, [last]);
      const [found] = rows;
      if (found === undefined) return null;
      await follow(executor, found, nowMs);
      return found.id;
    });
  }
}

async function follow(executor: Executor, followed: Followed, nowMs: number): Promise<void> {
  const { id, rule } = followed;
  const text = JSON.stringify(rule);
  const { rows } = await executor.query<{ until: string; from: string | null }>(progressSql, [id, text]);
  const { until, from } = rows[0] as { until: string; from: string | null };
  if (from === until) return;
  if (from === null) await forget(executor, id);
  const found = await takeFacts(executor, followed, { from, until, nowMs });
  if (found.length > 0) await join(executor, id, rule, found);
  await executor.query(
    `insert into audience_progress (audience_id, rule, read_until) values ($1, $2, $3::xid8)
    on conflict (audience_id) do update set rule = excluded.rule, read_until = excluded.read_until`,
    [id, text, until],
  );
}

/** What was found by another rule, or before a restore. */
async function forget(executor: Executor, id: number): Promise<void> {
  await executor.query('delete from audience_facts where audience_id = $1', [id]);
  const { rowCount } = await executor.query('delete from audience_members where audience_id = $1', [id]);
  await changeSizes(executor, new Map([[id, -(rowCount ?? 0)]]));
}

type Range = { from: string | null; until: string; nowMs: number };

/** @returns the users who did something */
async function takeFacts(
  executor: Executor,
  { id, publisherId, rule }: Followed,
  { from, until, nowMs }: Range,
): Promise<string[]> {
  const values: unknown[] = [id, until];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const after = from === null ? null : parameter(from);
  const written = (column: string): string =>
    `xid8send(${column}) < (select xid8send($2::xid8))${
      after === null ? '' : ` and xid8send(${column}) >= (select xid8send(${after}::xid8))`
    }`;
  const facts = factsSql(rule, publisherId, nowMs, parameter, written);
  const { rows } = await executor.query<{ user_key: string }>(
    `with taken as (
      insert into audience_facts (audience_id, user_key, at) select $1::integer, user_key, at from (${facts}) f
      returning user_key
    ) select distinct user_key from taken`,
    values,
  );
  return rows.map(({ user_key: key }) => key);
}

/*
 * Who did it often enough is a member for so many days after the first of the last times that suffice: that the time
 * passes needs no run.
 */
const joinSql = `
with joined as (
  insert into audience_members as known (user_key, audience_id, expires_at)
  select user_key, $1::integer, at + make_interval(days => $4) from (
    select user_key, at, row_number() over (partition by user_key order by at desc) as nth
    from audience_facts where audience_id = $1 and user_key = any($2::uuid[])
  ) ranked where nth = $3 order by user_key
  on conflict (user_key, audience_id) do update set expires_at = excluded.expires_at
  returning xmax = 0 as is_new
)
select count(*) filter (where is_new)::int as count from joined`;

async function join(executor: Executor, id: number, rule: Rule, userKeys: readonly string[]): Promise<void> {
  const { times = 1, within_days: days } = rule;
  const { rows } = await executor.query<{ count: number }>(joinSql, [id, userKeys, times, days]);
  await changeSizes(executor, new Map([[id, rows[0]?.count ?? 0]]));
}

/** Deletes what is too long ago for every rule. */
export async function deleteOldFacts(executor: Executor, nowMs: number): Promise<number> {
  const { rowCount } = await executor.query(
    `delete from audience_facts f using audiences a
    where a.id = f.audience_id and f.at < $1::timestamptz - make_interval(days => (a.rule ->> 'within_days')::int)`,
    [new Date(nowMs)],
  );
  return rowCount ?? 0;
}
