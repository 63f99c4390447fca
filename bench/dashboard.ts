import { loadavg } from 'node:os';
import { startSession } from '../src/accounts/sessions.ts';
import { createUser } from '../src/accounts/users.ts';
import { ensurePartitions } from '../src/platform/db/partitions.ts';
import { dayOf } from '../src/platform/lib/time.ts';
import { newUuid7 } from '../src/platform/lib/uuid7.ts';
import { startServerProcess } from '../test/support/server-process.ts';
import { createPublisher } from './catalogue.ts';
import { seedOfferSums } from './offer-sums.ts';
import { cpuUseSince, type Processor, readProcessor } from './processor.ts';
import { writeTable } from './report.ts';
import { type Stage, seedAndAsk } from './stage.ts';

/*
 * Benchmarks every page and list endpoint of the management API against a database of realistic size. COUNT defaults to
 * 40.
 * npm run bench:dashboard                              runs the complete benchmark
 * npm run bench:dashboard -- seed FOLDER               only seeds the database, which stays in the folder
 * npm run bench:dashboard -- ask FOLDER [COUNT [PATH]] sends COUNT requests to each path that contains PATH
 */
const [command, folder, times, only = ''] = process.argv.slice(2);
const [offers, deliveries] = [10_000, 1_000_000];
const calls = Number(times ?? 40);
const days = 31;
const pageLimitMs = 100;
const explorerLimitMs = 300;
const batch = 50_000;

const pages = [
  '/overview?days=30',
  '/overview/offers?days=30',
  '/find?q=half',
  '/find?q=advertiser%2019',
  '/reports',
  '/reports?range=30d&by=campaign',
  '/reports?range=30d&by=offer',
  '/reports?range=30d&by=offer&view=bar&compare=week',
  '/reports?range=14d&by=placement',
  '/rows?range=30d&metrics=clicks&status=all',
  '/story',
  '/alerts',
  '/live',
  '/offers',
  '/offers?q=half',
  '/offers/1',
  '/offers/1/languages?tag=de',
  '/offers/new',
  '/languages?tag=de',
  '/why?offer=1',
  '/why?user=user-7&offer=1',
  '/campaigns',
  '/campaigns/1',
  '/campaigns/1?edit=targeting',
  '/campaigns/1/forecast',
  '/campaigns/new',
  '/campaigns/1/publishers',
  '/advertisers',
  '/advertisers/1',
  '/drafts',
  '/experiments',
  '/experiments/new',
  '/audiences',
  '/integration',
  '/api-log',
  '/deliveries',
  '/deliveries?status=failed',
  '/deliveries?pub_user_id=user-7',
  '/deliveries?status=pending',
  '/settings',
  '/settings/themes',
  '/settings/placements',
  '/settings/placements/checkout',
  '/settings/controls',
  '/settings/exchange-rates',
  '/settings/perk-messages',
  '/settings/sources',
  '/settings/sequence-rules',
  '/settings/privacy',
  '/settings/keys',
  '/settings/webhooks/all',
  '/settings/webhooks/usp.selection',
  '/settings/users',
  '/settings/activity',
];

const lists = [
  '/offers?limit=100',
  '/offers?q=half&sort=-updated_at',
  '/campaigns?limit=100&sort=name',
  '/advertisers?q=advertiser',
  '/creatives?limit=100&creative_type=hero_image',
  '/placements',
  '/themes',
  '/keys',
  '/audit',
  '/deliveries?limit=100',
  '/deliveries?status=failed',
  '/deliveries?pub_user_id=nobody',
];

const key = 'bench-dashboard';

async function seed({ pool, ...stage }: Stage): Promise<void> {
  const nowMs = Date.now();
  await ensurePartitions(pool, nowMs);
  const publisherId = await createPublisher(pool, { key, campaigns: offers });
  await fillDeliveries(pool, publisherId, nowMs);
  const firstDay = dayOf(nowMs - (days - 1) * 86_400_000);
  await seedOfferSums({ pool, ...stage }, { publisherId, firstDay, days });
  await pool.query('analyze');
}

async function ask({ pool, databaseUrl }: Stage): Promise<void> {
  const { rows: sizes } = await pool.query<{ publisher: number; delivery: string; sums: string; deliveries: string }>(
    `select publisher_id as publisher, id as delivery, (select count(*) from rollups) as sums,
      (select count(*) from deliveries) as deliveries from deliveries where status = 'failed' limit 1`,
  );
  const seeded = sizes[0] as (typeof sizes)[0];
  const publisherPages = [...pages, `/deliveries/${seeded.delivery}`];
  const cookie = await signIn(pool);
  const server = await startServerProcess({ databaseUrl });
  const processor = () => readProcessor(pool, server.child.pid as number);
  const rows: string[][] = [];
  try {
    for (const path of [
      ...publisherPages.map((page) => `/dashboard/p/${seeded.publisher}${page}`),
      '/dashboard/operator/publishers',
      '/dashboard/operator/users',
      '/dashboard/operator/activity',
      '/dashboard/operator/system',
      '/dashboard/operator/data-files',
      '/dashboard/account',
      ...lists.map((list) => `/manage/v1${list}`),
    ].filter((path) => path.includes(only))) {
      const headers: Record<string, string> = path.startsWith('/manage')
        ? { authorization: `Bearer ${key}` }
        : { cookie };
      rows.push([path.replace(seeded.delivery, 'ID'), ...(await measure(server.url + path, headers, processor))]);
    }
  } finally {
    await server.stop();
  }
  const [load = 0] = loadavg();
  const seeds = `${offers} offers, ${seeded.deliveries} deliveries, ${seeded.sums} sums of ${days} days`;
  await writeTable(
    only === '' && times === undefined ? 'dashboard' : null,
    ['Page', 'p50 ms', 'p95 ms', 'CPU: server ms', 'database ms', 'limit', 'kept'],
    rows,
    `\n${seeds}; ${calls} calls each, load average ${load.toFixed(1)} at the end.`,
  );
}

async function signIn(pool: Stage['pool']): Promise<string> {
  const nowMs = Date.now();
  const email = `${nowMs}@example.com`;
  const user = await createUser(pool, { email, role: 'operator', publisherId: null, passwordHash: 'x', nowMs });
  const client = { device: 'Bench', network: '127.0.0.0/24', country: null };
  return `perkwire_session=${await startSession(pool, { userId: user?.id ?? 0, client, previous: null, nowMs })}`;
}

/** @returns median, 95th percentile, CPU times, the time limit, and whether the limit was met */
async function measure(
  url: string,
  headers: Record<string, string>,
  processor: () => Promise<Processor>,
): Promise<string[]> {
  const times: number[] = [];
  const before = await processor();
  for (let call = 0; call < calls; call++) {
    const startMs = performance.now();
    const answer = await fetch(url, { headers });
    await answer.text();
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
    times.push(performance.now() - startMs);
  }
  const used = cpuUseSince(before, await processor(), calls);
  times.sort((a, b) => a - b);
  const limitMs = url.includes('/reports') ? explorerLimitMs : pageLimitMs;
  const at = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? 0;
  return [at(0.5).toFixed(1), at(0.95).toFixed(1), ...used, String(limitMs), at(0.95) <= limitMs ? 'yes' : 'NO'];
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
