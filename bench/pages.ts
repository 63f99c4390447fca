import { startSession } from '../src/accounts/sessions.ts';
import { createUser } from '../src/accounts/users.ts';
import type { ServerProcess } from '../test/support/server-process.ts';
import { cpuUseSince, type Processor, readProcessor } from './processor.ts';
import { untilIdle } from './server-costs.ts';
import type { Stage } from './stage.ts';

/** Pages of a publisher, below `/dashboard/p/{publisherId}`. */
export const publisherPages = [
  '/overview?days=30',
  '/overview/offers?days=30',
  '/find?q=half',
  '/find?q=advertiser%2019',
  '/reports',
  '/reports?range=30d&by=campaign',
  '/reports?range=30d&by=offer',
  '/reports?range=30d&by=offer&view=bar&compare=week',
  '/reports?range=14d&by=placement',
  '/reports?range=30d&by=advertiser',
  '/rows?range=30d&metrics=sessions',
  '/rows?range=30d&metrics=impressions',
  '/rows?range=30d&metrics=clicks&status=all',
  '/rows?range=30d&metrics=impressions&status=excluded',
  '/rows?range=30d&metrics=conversions',
  '/rows?range=30d&metrics=perks_confirmed',
  '/story',
  '/alerts',
  '/metric-alerts',
  '/metric-alerts/new',
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

/** List endpoints of the management API, below `/manage/v1`. */
export const lists = [
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

/** Pages without a publisher, below `/dashboard`. */
export const operatorPages = [
  '/operator/publishers',
  '/operator/publishers?q=12',
  '/operator/users',
  '/operator/activity',
  '/operator/system',
  '/operator/data-files',
  '/account',
  '/find?q=a',
];

/**
 * Returns the pages of a delivery, a session and a user of a publisher. `withoutIds` replaces their IDs, so that tables
 * of two runs have the same paths.
 */
export async function recordPages(
  pool: Stage['pool'],
  publisherId: number,
): Promise<{ pages: string[]; withoutIds: (path: string) => string }> {
  const { rows } = await pool.query<{ delivery: string; session: string; person: string }>(
    `select (select id from deliveries where publisher_id = $1 order by day desc limit 1) as delivery, id as session,
      pub_user_id as person
    from sessions where publisher_id = $1 order by day desc, id desc limit 1`,
    [publisherId],
  );
  const [{ delivery, session, person }] = rows as [(typeof rows)[0]];
  return {
    pages: [`/deliveries/${delivery}`, `/story/${session}`, `/story?id=${person}`, `/find?q=${session}`],
    withoutIds: (path) => path.replace(delivery, 'ID').replace(session, 'SESSION').replace(`id=${person}`, 'id=USER'),
  };
}

type PageRequests = {
  paths: readonly string[];
  /** API key for the list endpoints. */
  key: string;
  /** Number of requests to each path. */
  calls: number;
  /** Limit for the 95th percentile, in milliseconds. */
  limitMs: number;
};

/** Number of requests to each path before the measurement, which load a publisher and fill caches. */
const warmUps = 2;

export const pageColumns = ['Page', 'p50 ms', 'p95 ms', 'CPU: server ms', 'database ms', 'limit', 'kept'];

/** Requests each path as a signed-in operator. Returns one table row for each path. */
export async function measurePages(stage: Stage, server: ServerProcess, requests: PageRequests): Promise<string[][]> {
  const { pool } = stage;
  const cookie = await signIn(pool);
  const processor = () => readProcessor(pool, server.child.pid as number);
  const rows: string[][] = [];
  await untilIdle(server);
  for (const path of requests.paths) {
    const headers: Record<string, string> = path.startsWith('/manage')
      ? { authorization: `Bearer ${requests.key}` }
      : { cookie };
    rows.push([path, ...(await measure({ url: server.url + path, headers }, requests, processor))]);
  }
  return rows;
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
  { url, headers }: { url: string; headers: Record<string, string> },
  { calls, limitMs }: PageRequests,
  processor: () => Promise<Processor>,
): Promise<string[]> {
  const get = async (): Promise<void> => {
    const answer = await fetch(url, { headers });
    await answer.text();
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
  };
  for (let call = 0; call < warmUps; call++) await get();
  const times: number[] = [];
  const before = await processor();
  for (let call = 0; call < calls; call++) {
    const startMs = performance.now();
    await get();
    times.push(performance.now() - startMs);
  }
  const used = cpuUseSince(before, await processor(), calls);
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(share * (times.length - 1))] ?? 0;
  return [at(0.5).toFixed(1), at(0.95).toFixed(1), ...used, String(limitMs), at(0.95) <= limitMs ? 'yes' : 'NO'];
}
