import { loadavg } from 'node:os';
import type pg from 'pg';
import { createPool } from '../src/platform/db/pool.ts';
import { dayOf } from '../src/platform/lib/time.ts';
import { catchUpRollups } from '../src/reports/catch-up.ts';
import { metricNames } from '../src/reports/metrics.ts';
import { dayBit, dimensionBits } from '../src/reports/rollup/grains.ts';
import { growthKey, seedCatalogue } from './growth-seeds.ts';
import { lists, measurePages, operatorPages, pageColumns, publisherPages, recordPages } from './pages.ts';
import { addOfferSlots, idSql, seedRawRows, sessionsSql } from './raw-rows.ts';
import { writeTable } from './report.ts';
import { changeServedMs, median, residentMb, untilIdle, withServer } from './server-costs.ts';
import { type Stage, seedAndAsk } from './stage.ts';
import { addMoney, addWeeks } from './weeks.ts';

/*
 * Benchmarks the start, a change and every page in an installation with 10,000 publishers, 100,000 offers, and the
 * rollups of 100 million events. A fifth of these events are also stored as raw rows.
 * npm run bench:scale                              runs the complete benchmark
 * npm run bench:scale -- seed FOLDER               only seeds the database, which stays in the folder
 * npm run bench:scale -- ask FOLDER [COUNT [PATH]] sends COUNT requests to each path that contains PATH
 */
const [command, folder, times, only = ''] = process.argv.slice(2);
const [publishers, offersPerPublisher, days] = [10_000, 10, 31];
const [sessions, sessionsOfHour, sessionsPerTransaction] = [4_000_000, 50_000, 2_000];
const [deliveries, auditEntries, changes] = [500_000, 200_000, 5];
const calls = Number(times ?? 40);
const limitMs = 200;

/** Publisher whose pages are requested, in the middle of all IDs. */
const publisherId = publishers / 2;

const { placement, offer, country, device } = dimensionBits;

/** Grains of the seeded rollups, with their rows per publisher and day. */
const grains = [
  { grain: 0, hours: 8, has: {} },
  { grain: placement | dayBit, hours: 1, has: { placement: true } },
  { grain: offer | dayBit, hours: 1, has: { offer: true } },
  { grain: country | dayBit, hours: 1, has: { country: true } },
  { grain: device | dayBit, hours: 1, has: { device: true } },
] as const;

/** Events per publisher, day and row of the rollups, so that all rows of a grain add up to 100 million events. */
const eventsPerDay = 100_000_000 / publishers / 31;

function rollupSql({ grain, hours, has }: (typeof grains)[number]): string {
  const [hasPlacement, hasOffer, hasCountry, hasDevice] = (['placement', 'offer', 'country', 'device'] as const).map(
    (name) => name in has,
  );
  const rows = hours * (hasOffer ? offersPerPublisher : 1) * (hasCountry ? 4 : 1) * (hasDevice ? 3 : 1);
  const count = Math.max(1, Math.round((2 * eventsPerDay) / rows / 5));
  return `
insert into rollups (publisher_id, grain, bucket, placement, offer_id, country, device, os, campaign_id,
  ${metricNames.join(', ')})
select p.id, ${grain}, $1::date::timestamp at time zone 'UTC' + make_interval(hours => h),
  ${hasPlacement ? "'checkout'" : "''"}, ${hasOffer ? 'o.id' : 0}, ${hasCountry ? "'C' || c" : "''"},
  ${hasDevice ? "'d' || d" : "''"}, ${hasDevice ? "'os'" : "''"}, ${hasOffer ? 'o.campaign_id' : 0},
  ${metricNames.map(() => `greatest(1, (${count} * random())::bigint)`).join(', ')}
from publishers p ${hasOffer ? 'join offers o on o.publisher_id = p.id' : ''},
  generate_series(0, ${hours - 1}) h, generate_series(1, ${hasCountry ? 4 : 1}) c,
  generate_series(1, ${hasDevice ? 3 : 1}) d
order by p.id`;
}

/** Rows with a publisher and a time within today, for each number of a series. */
const spreadSql = (from: number, to: number): string => `
  select s, (1 + (s::bigint * 7919) % ${publishers})::integer as publisher_id,
    greatest(current_date::timestamptz, now() - make_interval(secs => s % 3600)) as at
  from generate_series(${from}, ${to}) s`;

async function seed({ pool, databaseUrl }: Stage): Promise<void> {
  await seedCatalogue(pool, { publishers, offersPerPublisher });
  const firstDay = dayOf(Date.now() - (days - 1) * 86_400_000);
  await pool.query(
    `insert into rollup_publishers select id, time_zone, null, null, null, $1::date - 1 from publishers`,
    [firstDay],
  );
  await pool.query('select create_report_partitions($1::date - 1, $1::date + $2::integer)', [firstDay, days]);
  for (let day = 0; day < days; day++)
    for (const grain of grains) await pool.query(rollupSql(grain), [dayOf(Date.parse(firstDay) + day * 86_400_000)]);
  await addWeeks(pool);
  await addMoney(pool);
  const slots = await addOfferSlots(pool);
  await seedRawRows(pool, { publishers, sessions, days, slots });
  const ownPool = createPool({
    url: databaseUrl,
    size: 2,
    applicationName: 'perkwire-bench',
    onError: () => {},
    queryTimeoutMs: 600_000,
  });
  await seedLastHour(pool, slots, () => catchUpRollups(ownPool, Date.now())).finally(() => ownPool.end());
  await pool.query('drop table bench_slots');
  await seedLogs(pool);
  await pool.query('vacuum analyze');
}

/** Inserts the sessions of the last hour, in transactions of 10,000 events, which are then rolled up. */
async function seedLastHour(pool: pg.Pool, slots: number, rollUp: () => Promise<void>): Promise<void> {
  for (let from = 1; from <= sessionsOfHour; from += sessionsPerTransaction) {
    const spread = spreadSql(from, Math.min(sessionsOfHour, from + sessionsPerTransaction - 1));
    await pool.query(sessionsSql(spread, slots));
    await rollUp();
  }
}

/** Inserts webhook deliveries with their attempts, audit log entries, alerts, and one dashboard user per publisher. */
async function seedLogs(pool: Stage['pool']): Promise<void> {
  await pool.query(
    `insert into webhook_endpoints (publisher_id, event, url, method, secret_sealed, enabled)
    select id, 'usp.selection', 'https://shop.example/hook/' || id, 'POST', '\\x00', true from publishers`,
  );
  await pool.query(
    `insert into deliveries (day, id, publisher_id, endpoint_id, event, pub_user_id, payload, status, attempts,
      created_at, finished_at)
    select current_date, ${idSql('delivery')}, publisher_id, e.id, 'usp.selection', 'user-' || s % 50000, '\\x7b7d',
      case when s % 100 = 0 then 'failed' else 'delivered' end, 1, at, at
    from (${spreadSql(1, deliveries)}) as rows join webhook_endpoints e using (publisher_id)`,
  );
  await pool.query(
    `insert into delivery_attempts (day, delivery_id, generation, publisher_id, endpoint_id, started_at, finished_at,
      outcome, status_code, total_ms)
    select day, id, 1, publisher_id, endpoint_id, created_at, finished_at, status,
      case status when 'failed' then 400 else 200 end, 35 from deliveries`,
  );
  await pool.query(
    `insert into audit_log (publisher_id, at, actor_kind, actor_id, actor_label, action, resource, resource_id, changes)
    select publisher_id, at, 'user', 1, 'ann@example.com', 'update', 'campaigns', s::text,
      '{"weight": {"old": 1, "new": 2}}' from (${spreadSql(1, auditEntries)}) as rows`,
  );
  await pool.query(
    `insert into alerts (publisher_id, kind, subject, cause, data, raised_at)
    select publisher_id, 'campaign.ended', s::text, '',
      jsonb_build_object('campaign_id', s, 'name', 'Campaign ' || s, 'ended_at', at), at
    from (${spreadSql(1, publishers)}) as rows`,
  );
  await pool.query(
    `with added as (
      insert into users (email, role, publisher_id, password_hash, created_at)
      select 'member-' || id || '@example.com', 'admin', id, 'x', now() from publishers returning id)
    select count(*) from added`,
  );
}

async function ask(stage: Stage): Promise<void> {
  const { pool } = stage;
  const { rows: sizes } = await pool.query<Record<'sums' | 'events' | 'deliveries', string>>(
    `select (select count(*) from rollups) as sums, (select count(*) from events) as events,
      (select count(*) from deliveries) as deliveries`,
  );
  const [seeded] = sizes as [(typeof sizes)[0]];
  const { rows: offers } = await pool.query<{ offer: number; campaign: number; advertiser: number }>(
    `select o.id as offer, c.id as campaign, c.advertiser_id as advertiser
    from offers o join campaigns c on c.id = o.campaign_id where o.publisher_id = $1 order by o.id limit 1`,
    [publisherId],
  );
  const [ids] = offers as [(typeof offers)[0]];
  const { pages, withoutIds } = await recordPages(pool, publisherId);
  const own = (page: string): string =>
    page
      .replace(/^\/offers\/1\b/, `/offers/${ids.offer}`)
      .replace(/^\/campaigns\/1\b/, `/campaigns/${ids.campaign}`)
      .replace(/^\/advertisers\/1\b/, `/advertisers/${ids.advertiser}`)
      .replace(/offer=1\b/, `offer=${ids.offer}`);
  const paths = [
    ...[...publisherPages, ...pages].map((page) => `/dashboard/p/${publisherId}${own(page)}`),
    ...operatorPages.map((page) => `/dashboard${page}`),
    ...lists.map((list) => `/manage/v1${list}`),
  ].filter((path) => path.includes(only));
  const key = growthKey(publisherId);
  const { costs, rows } = await withServer(stage, {}, async (server, startS) => {
    const startMb = await residentMb(server);
    await untilIdle(server);
    const served: number[] = [];
    for (let no = 0; no < changes; no += 1) served.push(await changeServedMs(stage, server, no));
    const costs =
      `Start ${startS.toFixed(1)} s, ${startMb.toFixed(0)} MB; ` +
      `change served after ${median(served).toFixed(0)} ms (median of ${changes}).`;
    return { costs, rows: await measurePages(stage, server, { paths, key, calls, limitMs }) };
  });
  const [load = 0] = loadavg();
  await writeTable(
    only === '' && times === undefined ? 'scale' : null,
    pageColumns,
    rows.map(([path = '', ...figures]) => [withoutIds(path), ...figures]),
    `\n${costs}\n\n${publishers} publishers, ${publishers * offersPerPublisher} offers, ${seeded.sums} rollup rows, ` +
      `${seeded.events} raw events and ${seeded.deliveries} deliveries; ${calls} calls each, ` +
      `load average ${load.toFixed(1)} at the end.`,
  );
}

await seedAndAsk({ command, folder, seed, ask });
