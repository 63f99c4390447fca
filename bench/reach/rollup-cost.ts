import type { PoolClient } from 'pg';
import { compactReach } from '../../src/reports/reach/compact.ts';
import { allEventsSql } from '../../src/reports/rollup/events.ts';
import { reachWrittenCte } from '../../src/reports/rollup/reach.ts';
import { rollupSql } from '../../src/reports/rollup/statement.ts';
import { processorUs } from '../costs.ts';
import { seedCatalogue } from '../growth-seeds.ts';
import { openStage, type Stage } from '../stage.ts';

const [events, eventsPerSession, rounds] = [10_000, 5, 9];

const eventsSql = allEventsSql({ condition: 'true', fromDay: 'current_date' });
const withUsers = rollupSql(eventsSql, 'now()');
const withoutUsers = withUsers.replace(`,${reachWrittenCte('')}`, '');

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] as number;

/**
 * Compares the CPU time of rollups with and without the users of impressions, and measures how long merging these users
 * into sketches takes.
 */
export async function measureRollupCost(): Promise<string> {
  if (withoutUsers === withUsers) throw new Error('the rollup statement has no part for users');
  const stage = await openStage();
  try {
    await seedEvents(stage);
    const client = await stage.pool.connect();
    const [alone, users]: [number[], number[]] = [[], []];
    for (let round = 0; round <= rounds; round += 1)
      for (const [statement, times] of [
        [withoutUsers, alone],
        [withUsers, users],
      ] as const) {
        const us = await costOf(client, statement);
        if (round > 0) times.push(us); // the first round fills the caches
      }
    await client.query(withUsers);
    client.release();
    const beforeUs = process.cpuUsage();
    await compactReach(stage.pool);
    const { user, system } = process.cpuUsage(beforeUs);
    const ms = (us: number): string => `${(us / 1000).toFixed(0)} ms`;
    return [
      `Rollup of ${events} events: ${ms(median(alone))} of CPU time without users, ${ms(median(users))} with users`,
      `(${(median(users) / median(alone)).toFixed(2)}×, goal: 1.15×). Merging the users into sketches later takes`,
      `${ms(user + system)} of CPU time outside PostgreSQL.`,
    ].join(' ');
  } finally {
    await stage.close();
  }
}

/** Runs the statement in a transaction that is rolled back, and returns the CPU time of its database process. */
async function costOf(client: PoolClient, statement: string): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const pid = rows[0]?.pid ?? 0;
  await client.query("begin; set local jit = off; set local work_mem = '64MB'; set local enable_sort = off");
  const beforeUs = await processorUs(pid);
  await client.query(statement);
  const us = (await processorUs(pid)) - beforeUs;
  await client.query('rollback');
  return us;
}

/** Inserts sessions of different users of 20 publishers, with one impression or click for each of their offers. */
async function seedEvents({ pool }: Stage): Promise<void> {
  await seedCatalogue(pool, { publishers: 20, offersPerPublisher: 10 });
  await pool.query(
    `with added as (
      insert into sessions (day, id, publisher_id, placement, country, device, os, offer_ids, campaign_ids, dev, usp,
        usp_check_all, created_at, user_key)
      select current_date, md5(s::text)::uuid, 1 + s % 20, 'checkout', (array['US', 'DE', 'FR', 'GB'])[1 + s % 4],
        (array['mobile', 'desktop', 'tablet'])[1 + s % 3], 'ios', array[1 + s % 200], array[1 + s % 200],
        false, false, false, now(), md5('user' || s)::uuid
      from generate_series(1, $1::integer) s)
    insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at)
    select current_date, md5(s::text)::uuid, 1 + (s + n) % 200, (array['impression', 'impression', 'click', 'close',
        'impression'])[1 + n], 1 + s % 20, 1 + (s + n) % 200, n + 1, now()
    from generate_series(1, $1::integer) s, generate_series(0, $2::integer - 1) n`,
    [events / eventsPerSession, eventsPerSession],
  );
  await pool.query('vacuum analyze sessions, events');
}
