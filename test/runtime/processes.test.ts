import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPool } from '../../src/platform/db/pool.ts';
import { cloneDatabase } from '../support/database.ts';
import { buildMmdb } from '../support/mmdb.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';

const metricsToken = 'metrics-token-'.repeat(3);
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let pool: ReturnType<typeof createPool>;
let folder: string;
const servers: ServerProcess[] = [];

beforeAll(async () => {
  database = await cloneDatabase();
  pool = createPool({ url: database.url, size: 1, applicationName: 'perkwire-test', onError: () => {} });
  folder = await mkdtemp(join(tmpdir(), 'perkwire-processes-'));
});
afterAll(async () => {
  for (const server of servers) await server.kill();
  await pool.end();
  await database.drop();
  await rm(folder, { recursive: true });
});

async function startServer(env: Record<string, string>, stderr: 'inherit' | 'pipe' = 'inherit') {
  const server = await startServerProcess({
    databaseUrl: database.url,
    env: { LOG_LEVEL: 'fatal', ...env },
    stderr,
  });
  servers.push(server);
  return server;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Pids of the living processes with these roles, by their heartbeats. */
async function pidsOf(role: 'api' | 'worker'): Promise<number[]> {
  const { rows } = await pool.query<{ pid: number }>('select pid from processes where roles = $1', [[role]]);
  return rows.map(({ pid }) => pid).filter(isAlive);
}

/** A request on a connection of its own. */
const request = (url: string, headers = {}) => fetch(url, { headers: { connection: 'close', ...headers } });

async function countedRequests({ url }: ServerProcess): Promise<number> {
  const page = await (await request(`${url}/metrics`, { authorization: `Bearer ${metricsToken}` })).text();
  return Number(/^perkwire_http_request_seconds_count\{route="\/health\/live",status="2xx"\} (\d+)$/m.exec(page)?.[1]);
}

test('PROCESSES serve one port: a dead one is replaced, SIGHUP replaces all, SIGTERM ends all', async () => {
  const server = await startServer({ PROCESSES: '2', METRICS_TOKEN: metricsToken });
  await expect.poll(() => pidsOf('api')).toHaveLength(2);
  await expect.poll(() => pidsOf('worker')).toHaveLength(1);

  // Connections go to both in turns; the page shows the requests of both, whichever answers.
  for (let count = 0; count < 6; count += 1) expect((await request(`${server.url}/health/live`)).status).toBe(200);
  await expect.poll(() => countedRequests(server)).toBe(6);
  await expect.poll(() => countedRequests(server)).toBe(6);

  const before = await pidsOf('api');
  process.kill(before[0] as number, 'SIGKILL');
  await expect.poll(async () => (await pidsOf('api')).filter((pid) => !before.includes(pid))).toHaveLength(1);
  expect(await pidsOf('api')).toContain(before[1]);
  for (let count = 0; count < 4; count += 1) expect((await request(`${server.url}/health/ready`)).status).toBe(200);
  expect(await countedRequests(server)).toBe(6);

  const old = [...(await pidsOf('api')), ...(await pidsOf('worker'))];
  let replaced = false;
  const refusals: unknown[] = [];
  const client = (async () => {
    while (!replaced)
      await request(`${server.url}/health/live`).catch((err) => {
        if (err.cause?.code === 'ECONNREFUSED') refusals.push(err.cause);
      });
  })();
  server.child.kill('SIGHUP');
  await expect.poll(() => old.filter(isAlive)).toEqual([]);
  replaced = true;
  await client;
  expect(refusals).toEqual([]);
  await expect.poll(() => pidsOf('api')).toHaveLength(2);
  await expect.poll(() => pidsOf('worker')).toHaveLength(1);
  expect((await request(`${server.url}/health/ready`)).status).toBe(200);

  const last = [...(await pidsOf('api')), ...(await pidsOf('worker'))];
  expect(await server.stop()).toBe(0);
  expect(last.filter(isAlive)).toEqual([]);
});

test('a process that dies at once again and again ends the service, with what the process said', async () => {
  const geoipDb = join(folder, 'geo.mmdb');
  await writeFile(
    geoipDb,
    buildMmdb('Test-Country', [{ net: '198.41.0.0/16', record: { country: { iso_code: 'US' } } }]),
  );
  const server = await startServer({ PROCESSES: '2', ROLES: 'api', GEOIP_DB: geoipDb }, 'pipe');
  const stderr = text(server.child.stderr as NonNullable<typeof server.child.stderr>);
  const ended = new Promise((resolve) => server.child.once('exit', resolve));
  await expect.poll(() => pidsOf('api')).toHaveLength(2);
  const [one, other] = (await pidsOf('api')) as [number, number];

  await writeFile(geoipDb, 'broken');
  process.kill(one, 'SIGKILL');
  expect(await ended).toBe(1);
  expect(isAlive(other)).toBe(false);
  const said = (await stderr).trim().split('\n');
  expect(said.slice(0, -1).every((line) => line.startsWith('The geo database'))).toBe(true);
  expect(said.at(-1)).toMatch(/^A process \(api\) ended \d+ times in a row/);
});
