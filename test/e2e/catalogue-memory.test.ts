import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { growthKey, seedCatalogue } from '../../bench/growth-seeds.ts';
import { clonePool } from '../support/database.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { timeLimit } from '../support/time-limit.ts';

const [limitMb, metricsToken] = [4, 'metrics-'.repeat(5)];
/** The offers of all publishers need about twice the memory limit. */
const size = { publishers: 45, offersPerPublisher: 20 };

let database: Awaited<ReturnType<typeof clonePool>>;
let server: ServerProcess;
let publisherIds: number[];
const start = (port?: number): Promise<ServerProcess> =>
  startServerProcess({
    databaseUrl: database.url,
    ...(port !== undefined && { port }),
    env: { CATALOGUE_MEMORY_MB: String(limitMb), METRICS_TOKEN: metricsToken, LOG_LEVEL: 'error' },
  });
beforeAll(async () => {
  database = await clonePool(4);
  await emptyCatalogue(database.pool);
  await seedCatalogue(database.pool, size);
  publisherIds = Array.from({ length: size.publishers }, (_, index) => index + 1);
  server = await start();
}, timeLimit(60_000));
afterAll(async () => {
  await server?.kill();
  await database?.close();
});

/** Deletes the demo catalogue, because the seeded publishers have IDs from 1 upwards. */
const emptyCatalogue = (pool: pg.Pool) => pool.query('truncate publishers restart identity cascade');

type ShownOffer = { id: number; title: string };
type OffersResponse = { status: number; offers: ShownOffer[] };

/** Fetches offers. The status is 0 if the server is down. */
async function fetchOffers(publisherId: number): Promise<OffersResponse> {
  const url = `${server.url}/native/v4/offers.json?api_key=${growthKey(publisherId)}`;
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ placement: 'checkout' }),
  };
  try {
    const answer = await fetch(url, init);
    const { data } = (await answer.json()) as { data?: { offers?: ShownOffer[] } };
    return { status: answer.status, offers: data?.offers ?? [] };
  } catch {
    return { status: 0, offers: [] };
  }
}

/** Fetches offers until the server responds with 200, as a client would. */
async function fetchPatiently(publisherId: number): Promise<ShownOffer[]> {
  for (;;) {
    const { status, offers } = await fetchOffers(publisherId);
    if (status === 200) return offers;
    expect([0, 503]).toContain(status);
    await sleep(50);
  }
}

async function metric(name: string): Promise<number> {
  const headers = { authorization: `Bearer ${metricsToken}` };
  const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1] ?? 0);
}

/** Titles of each publisher's offers, by ID. */
async function readTitles(): Promise<Map<number, Map<number, string>>> {
  const { rows } = await database.pool.query<{ id: number; publisher_id: number; title: string }>(
    'select id, publisher_id, title from offers',
  );
  const titles = new Map(publisherIds.map((id) => [id, new Map<number, string>()]));
  for (const { id, publisher_id: publisherId, title } of rows) titles.get(publisherId)?.set(id, title);
  return titles;
}

// Requests that exceed the memory limit wait for several seconds, and the server is killed and restarted.
test('with CATALOGUE_MEMORY_MB, each publisher gets its current offers within the limit, despite kills and changes', {
  timeout: timeLimit(180_000),
}, async () => {
  const titles = await readTitles();
  let [fetches, isEnding] = [0, false];
  let mostBytes = 0;
  const clients = Array.from({ length: 4 }, async (_, client) => {
    for (let index = 0; index < publisherIds.length; index += 1) {
      const publisherId = publisherIds[(index * 7 + client * 11) % publisherIds.length] as number;
      const offers = await fetchPatiently(publisherId);
      fetches += 1;
      expect(offers).toHaveLength(5);
      expect(offers.every(({ id }) => titles.get(publisherId)?.has(id))).toBe(true);
    }
  });
  const changes = (async () => {
    for (let change = 0; !isEnding; change += 1) {
      const publisherId = publisherIds[(change * 13) % publisherIds.length];
      await database.pool.query('update offers set title = $2 where publisher_id = $1', [publisherId, `No ${change}`]);
      mostBytes = Math.max(mostBytes, await metric('perkwire_catalog_memory_bytes').catch(() => 0));
      await sleep(100);
    }
  })();
  const until = async (count: number): Promise<void> => {
    while (fetches < count) await sleep(20);
  };
  await until(40);
  await database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name <> 'perkwire-test'`,
  );
  await until(100);
  await server.kill();
  server = await start(server.port);
  await Promise.all(clients);
  isEnding = true;
  await changes;
  expect(mostBytes).toBeLessThan(2 * limitMb * 2 ** 20);
  expect(await metric('perkwire_catalog_drops_total')).toBeGreaterThan(0);
  const current = await readTitles();
  const outdated = async (): Promise<ShownOffer[]> => {
    const outdatedOffers = await Promise.all(
      publisherIds.map(async (publisherId) => {
        const offers = await fetchPatiently(publisherId);
        return offers.filter(({ id, title }) => title !== current.get(publisherId)?.get(id));
      }),
    );
    return outdatedOffers.flat();
  };
  await expect.poll(outdated, { timeout: timeLimit(30_000) }).toEqual([]);
});
