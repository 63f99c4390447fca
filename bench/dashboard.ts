import { loadavg } from 'node:os';
import { ensurePartitions } from '../src/platform/db/partitions.ts';
import { dayOf } from '../src/platform/lib/time.ts';
import { newUuid7 } from '../src/platform/lib/uuid7.ts';
import { createPublisher } from './catalogue.ts';
import { seedOfferSums } from './offer-sums.ts';
import { lists, measurePages, operatorPages, pageColumns, publisherPages, recordPages } from './pages.ts';
import { addOfferSlots, eventsPerSession, seedRawRows } from './raw-rows.ts';
import { writeTable } from './report.ts';
import { withServer } from './server-costs.ts';
import { type Stage, seedAndAsk } from './stage.ts';

/*
 * Benchmarks every page and list endpoint of the management API against a database of realistic size. COUNT defaults to
 * 40.
 * npm run bench:dashboard                              runs the complete benchmark
 * npm run bench:dashboard -- seed FOLDER               only seeds the database, which stays in the folder
 * npm run bench:dashboard -- ask FOLDER [COUNT [PATH]] sends COUNT requests to each path that contains PATH
 */
const [command, folder, times, only = ''] = process.argv.slice(2);
const [offers, deliveries, sessions] = [10_000, 1_000_000, 2_000_000];
const calls = Number(times ?? 40);
const days = 31;
const limitMs = 100;
const batch = 50_000;

const key = 'bench-dashboard';

async function seed({ pool, ...stage }: Stage): Promise<void> {
  const nowMs = Date.now();
  await ensurePartitions(pool, nowMs);
  const publisherId = await createPublisher(pool, { key, campaigns: offers });
  await fillDeliveries(pool, publisherId, nowMs);
  const firstDay = dayOf(nowMs - (days - 1) * 86_400_000);
  await seedOfferSums({ pool, ...stage }, { publisherId, firstDay, days });
  const slots = await addOfferSlots(pool);
  await seedRawRows(pool, { publishers: publisherId, sessions, days, slots });
  await pool.query('drop table bench_slots');
  await pool.query('vacuum analyze');
}

async function ask(stage: Stage): Promise<void> {
  const { rows: sizes } = await stage.pool.query<{ publisher: number; sums: string; deliveries: string }>(
    `select publisher_id as publisher, (select count(*) from rollups) as sums,
      (select count(*) from deliveries) as deliveries from deliveries limit 1`,
  );
  const seeded = sizes[0] as (typeof sizes)[0];
  const { pages, withoutIds } = await recordPages(stage.pool, seeded.publisher);
  const ownPages = [...publisherPages, ...pages];
  const paths = [
    ...ownPages.map((page) => `/dashboard/p/${seeded.publisher}${page}`),
    ...operatorPages.map((page) => `/dashboard${page}`),
    ...lists.map((list) => `/manage/v1${list}`),
  ].filter((path) => path.includes(only));
  const requests = { paths, key, calls, limitMs };
  const rows = await withServer(stage, {}, (server) => measurePages(stage, server, requests));
  const [load = 0] = loadavg();
  const seeds =
    `${offers} offers, ${seeded.deliveries} deliveries, ${seeded.sums} sums of ${days} days, ` +
    `${sessions * eventsPerSession} raw events`;
  await writeTable(
    only === '' && times === undefined ? 'dashboard' : null,
    pageColumns,
    rows.map(([path = '', ...figures]) => [withoutIds(path), ...figures]),
    `\n${seeds}; ${calls} calls each, load average ${load.toFixed(1)} at the end.`,
  );
}

/** Inserts deliveries from the last two days with one attempt each; 1% of them failed. */
async function fillDeliveries(pool: Stage['pool'], publisherId: number, nowMs: number): Promise<void> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into webhook_endpoints (publisher_id, event, url, method, secret_sealed, enabled) values ($1,
      'usp.selection', 'https://shop.example/hook', 'POST', '\\x00', true) returning id`,
    [publisherId],
  );
  for (let from = 0; from < deliveries; from += batch) {
    const count = Math.min(batch, deliveries - from);
    const times = Array.from({ length: count }, (_, index) => nowMs - ((from + index) / deliveries) * 2 * 86_400_000);
    await pool.query(
      `insert into deliveries (day, id, publisher_id, endpoint_id, event, pub_user_id, payload, status, attempts,
        created_at, finished_at)
      select (to_timestamp(t / 1000) at time zone 'UTC')::date, id, $1, $2, 'usp.selection', 'user-' || (n % 5000),
        '\\x7b7d', case when n % 100 = 0 then 'failed' else 'delivered' end, 1, to_timestamp(t / 1000),
        to_timestamp(t / 1000)
      from unnest($3::uuid[], $4::float8[]) with ordinality as d (id, t, n)`,
      [publisherId, rows[0]?.id, times.map((atMs) => newUuid7(atMs)), times],
    );
  }
  await pool.query(
    `insert into delivery_attempts (day, delivery_id, generation, publisher_id, endpoint_id, started_at, finished_at,
      outcome, status_code, total_ms)
    select day, id, 1, publisher_id, endpoint_id, created_at, finished_at, status, case status when 'failed' then 400
      else 200 end, 35 from deliveries`,
  );
}

await seedAndAsk({ command, folder, seed, ask });
