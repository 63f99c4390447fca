import type pg from 'pg';
import { dayMs, dayOf, hourMs } from '../src/platform/lib/time.ts';

/** Number of events per session. */
export const eventsPerSession = 5;

/** SQL for a UUIDv7 with the time `at`, unique for each prefix and number `s`. */
export const idSql = (prefix: string): string => `(lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
  || '7' || substr(md5('${prefix}' || s), 1, 3) || '8' || substr(md5('${prefix}' || s), 4, 15))::uuid`;

/**
 * Creates a table with slots of three offers that sessions show, up to 1,000 per publisher.
 * @returns number of slots of each publisher
 */
export async function addOfferSlots(pool: pg.Pool): Promise<number> {
  await pool.query(
    `create table bench_slots as
    select publisher_id, slot, array_agg(id order by id) as ids, array_agg(campaign_id order by id) as campaign_ids
    from (
      select *, (row_number() over (partition by publisher_id order by id) - 1) / 3 as slot from offers
    ) as numbered
    where slot < 1000 group by publisher_id, slot having count(*) = 3`,
  );
  await pool.query('create unique index on bench_slots (publisher_id, slot)');
  await pool.query('vacuum analyze bench_slots');
  const { rows } = await pool.query<{ slots: number }>('select 1 + max(slot)::integer as slots from bench_slots');
  return rows[0]?.slots ?? 1;
}

/** SQL that inserts sessions with their events. `spread` is SQL for rows of `s`, `publisher_id` and `at`. */
export const sessionsSql = (spread: string, slots: number): string => `
with rows as materialized (
  select s, publisher_id, at, (at at time zone 'UTC')::date as day, ${idSql('session')} as id, ids, campaign_ids
  from (select *, s / 10007 % ${slots} as slot from (${spread}) as numbered) as spread
  join bench_slots using (publisher_id, slot) order by at, s
), added as (
  insert into sessions (day, id, publisher_id, placement, country, device, os, pub_user_id, offer_ids, campaign_ids,
    dev, usp, usp_check_all, created_at)
  select day, id, publisher_id, 'checkout', (array['US', 'DE', 'FR', 'GB'])[1 + s % 4],
    (array['mobile', 'desktop', 'tablet'])[1 + s % 3], 'ios', 'user-' || s % 50000, ids, campaign_ids, false, false,
    false, at from rows
), wrapped as (
  insert into usp_sessions (day, session_id, publisher_id, selected, wrapped_at)
  select day, id, publisher_id, campaign_ids[1:1], at from rows where s % 20 = 0
), booked as (
  insert into bookings (day, session_id, id, publisher_id, offer_id, campaign_id, at, conversions, revenue_micros,
    currency)
  select day, id, id, publisher_id, ids[1], campaign_ids[1], at, 1, 1000000, 'USD' from rows where s % 100 = 0
)
insert into events (day, session_id, offer_id, kind, publisher_id, campaign_id, position, at, suspicious,
  revenue_micros, currency)
select day, id, ids[1 + n % 3],
  (array['impression', 'impression', 'impression', 'click', 'close'])[1 + n], publisher_id,
  campaign_ids[1 + n % 3], 1 + n % 3, at, case when (s + n) % 500 = 3 then 'bot' end,
  case when n = 3 then 100000 end, case when n = 3 then 'USD' end
from rows, generate_series(0, ${eventsPerSession - 1}) n`;

type RawRows = { publishers: number; sessions: number; days: number; slots: number };

/**
 * Inserts sessions and events of the last days until an hour ago, in the order of their time. The publishers take
 * turns. The rows count as rolled up: their rollups are seeded separately.
 */
export async function seedRawRows(pool: pg.Pool, { publishers, sessions, days, slots }: RawRows): Promise<void> {
  const [endMs, perDay] = [Date.now() - hourMs, Math.ceil(sessions / days)];
  const starts = Array.from({ length: days }, (_, back) => Date.parse(dayOf(endMs - back * dayMs)));
  await pool.query('select create_day_partitions($1::date, $2::date)', [
    dayOf(starts.at(-1) ?? 0),
    dayOf(starts[0] ?? 0),
  ]);
  const insertNext = async (): Promise<void> => {
    for (let startMs = starts.pop(); startMs !== undefined; startMs = starts.pop()) {
      const from = Math.floor(startMs / dayMs) * perDay;
      const rows = Math.floor(perDay * Math.min(1, Math.max(0, endMs - startMs) / dayMs));
      await pool.query(
        sessionsSql(
          `
          select s, 1 + (s * 7919) % ${publishers} as publisher_id,
            to_timestamp(${startMs / 1000}::float8 + (s - ${from}) * ${86_400 / perDay}::float8) as at
          from generate_series(${from}::bigint, ${from + rows - 1}) s`,
          slots,
        ),
      );
    }
  };
  await Promise.all([insertNext(), insertNext()]);
  await pool.query(
    `update rollup_progress set until_xid = pg_snapshot_xmax(pg_current_snapshot()), open_xids = '{}',
      rolled_up_at = now(), reach_rolled_up_at = now()`,
  );
  // The learner would read all rows before it is idle, because it has not read them while they were written.
  await pool.query(
    `insert into ranking_progress (progress) values (jsonb_build_object('xid',
      pg_snapshot_xmax(pg_current_snapshot())::text, 'marks', '[]'::jsonb, 'traffic', '{}'::jsonb, 'lead', null))
    on conflict (only_row) do update set progress = excluded.progress`,
  );
  await pool.query('vacuum analyze sessions, events, usp_sessions, bookings');
}
