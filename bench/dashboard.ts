import { startSession } from '../src/dashboard/auth/sessions.ts';
import { createUser } from '../src/dashboard/auth/users.ts';
import { ensurePartitions } from '../src/platform/db/partitions.ts';
import { dayOf } from '../src/platform/lib/time.ts';
import { newUuid7 } from '../src/platform/lib/uuid7.ts';
import { startServerProcess } from '../test/support/server-process.ts';
import { createPublisher } from './catalogue.ts';
import { seedOfferSums } from './offer-sums.ts';
import { writeTable } from './report.ts';
import { openStage } from './stage.ts';

/**
 * `npm run bench:dashboard [offers] [deliveries]`: how long each page and each list of the management API takes in a
 * full installation.
 */
const [offers = 10_000, deliveries = 1_000_000] = process.argv.slice(2).map(Number);
const calls = 40;
const days = 31;
const pageLimitMs = 100;
const explorerLimitMs = 300;
const batch = 50_000;

const pages = [
  '/overview?days=30',
  '/find?q=half',
  '/find?q=advertiser%2019',
  '/reports',
  '/reports?range=30d&by=campaign',
  '/reports?range=30d&by=offer',
  '/reports?range=30d&by=offer&view=bar&compare=week',
  '/reports?range=14d&by=placement',
  '/alerts',
  '/live',
  '/offers',
  '/offers?q=half',
  '/offers/1',
  '/why?offer=1',
  '/why?user=user-7&offer=1',
  '/campaigns',
  '/campaigns/1',
  '/campaigns/1/publishers',
  '/advertisers',
  '/integration',
  '/deliveries',
  '/deliveries?status=failed',
  '/deliveries?pub_user_id=user-7',
  '/deliveries?status=pending',
  '/settings',
  '/settings/themes',
  '/settings/placements',
  '/settings/placements/checkout',
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
const stage = await openStage();
try {
  const { pool } = stage;
  const nowMs = Date.now();
  await ensurePartitions(pool, nowMs);
  const publisherId = await createPublisher(pool, { key, campaigns: offers });
  await fillDeliveries(publisherId, nowMs);
  const firstDay = dayOf(nowMs - (days - 1) * 86_400_000);
  const sums = await seedOfferSums(stage, { publisherId, firstDay, days });
  await pool.query('analyze');
  const user = await createUser(pool, {
    email: 'bench@example.com',
    role: 'operator',
    publisherId: null,
    passwordHash: 'x',
    nowMs,
  });
  const client = { device: 'Bench', network: '127.0.0.0/24', country: null };
  const session = { userId: user?.id ?? 0, client, previous: null, nowMs };
  const cookie = `perkwire_session=${await startSession(pool, session)}`;
  const server = await startServerProcess({ databaseUrl: stage.databaseUrl });
  const rows: string[][] = [];
  try {
    for (const path of [
      ...pages.map((page) => `/dashboard/p/${publisherId}${page}`),
      '/dashboard/operator/publishers',
      '/dashboard/operator/system',
      `/dashboard/p/${publisherId}/deliveries/${await someDelivery()}`,
      ...lists.map((list) => `/manage/v1${list}`),
    ]) {
      const times: number[] = [];
      for (let call = 0; call < calls; call++) {
        const startMs = performance.now();
        const answer = await fetch(server.url + path, {
          headers: path.startsWith('/manage') ? { authorization: `Bearer ${key}` } : { cookie },
        });
        await answer.text();
        if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
        times.push(performance.now() - startMs);
      }
      times.sort((a, b) => a - b);
      const limitMs = path.includes('/reports') ? explorerLimitMs : pageLimitMs;
      const at = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? 0;
      rows.push([path, at(0.5).toFixed(1), at(0.95).toFixed(1), String(limitMs), at(0.95) <= limitMs ? 'yes' : 'NO']);
    }
  } finally {
    await server.stop();
  }
  await writeTable(
    'dashboard',
    ['Page', 'p50 ms', 'p95 ms', 'limit', 'kept'],
    rows,
    `\n${offers} offers, ${deliveries} deliveries, ${sums} sums of ${days} days.`,
  );
} finally {
  await stage.close();
}

async function someDelivery(): Promise<string> {
  const { rows } = await stage.pool.query<{ id: string }>("select id from deliveries where status = 'failed' limit 1");
  return rows[0]?.id ?? '';
}

/** Over the last two days; one in a hundred failed. Each was tried once. */
async function fillDeliveries(publisherId: number, nowMs: number): Promise<void> {
  const { rows } = await stage.pool.query<{ id: number }>(
    `insert into webhook_endpoints (publisher_id, event, url, method, secret_sealed, enabled) values ($1,
      'usp.selection', 'https://shop.example/hook', 'POST', '\\x00', true) returning id`,
    [publisherId],
  );
  for (let from = 0; from < deliveries; from += batch) {
    const count = Math.min(batch, deliveries - from);
    const times = Array.from({ length: count }, (_, index) => nowMs - ((from + index) / deliveries) * 2 * 86_400_000);
    await stage.pool.query(
      `insert into deliveries (day, id, publisher_id, endpoint_id, event, pub_user_id, payload, status, attempts,
        created_at, finished_at)
      select (to_timestamp(t / 1000) at time zone 'UTC')::date, id, $1, $2, 'usp.selection', 'user-' || (n % 5000),
        '\\x7b7d', case when n % 100 = 0 then 'failed' else 'delivered' end, 1, to_timestamp(t / 1000),
        to_timestamp(t / 1000)
      from unnest($3::uuid[], $4::float8[]) with ordinality as d (id, t, n)`,
      [publisherId, rows[0]?.id, times.map((atMs) => newUuid7(atMs)), times],
    );
  }
  await stage.pool.query(
    `insert into delivery_attempts (day, delivery_id, generation, publisher_id, endpoint_id, started_at, finished_at,
      outcome, status_code, total_ms)
    select day, id, 1, publisher_id, endpoint_id, created_at, finished_at, status, case status when 'failed' then 400
      else 200 end, 35 from deliveries`,
  );
}
