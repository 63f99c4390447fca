import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPool } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { StartupError } from '../../src/platform/startup-error.ts';
import { createSupervisor } from '../../src/runtime/processes/supervisor.ts';
import { cloneDatabase } from '../support/database.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { timeLimit } from '../support/time-limit.ts';

const metricsToken = 'metrics-token-'.repeat(3);
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let pool: ReturnType<typeof createPool>;
let server: ServerProcess | undefined;

beforeAll(async () => {
  database = await cloneDatabase();
  pool = createPool({ url: database.url, size: 1, applicationName: 'perkwire-test', onError: () => {} });
});
afterAll(async () => {
  await server?.kill();
  await pool.end();
  await database.drop();
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Returns the process IDs of the running processes with this role, from their heartbeats. */
async function pidsOf(role: 'api' | 'worker'): Promise<number[]> {
  const { rows } = await pool.query<{ pid: number }>('select pid from processes where roles = $1', [[role]]);
  return rows.map(({ pid }) => pid).filter(isAlive);
}

/** Sends a request on a new connection. */
const request = (url: string, headers = {}) => fetch(url, { headers: { connection: 'close', ...headers } });

async function countedRequests({ url }: ServerProcess): Promise<number> {
  const page = await (await request(`${url}/metrics`, { authorization: `Bearer ${metricsToken}` })).text();
  return Number(
    /^perkwire_http_request_duration_seconds_count\{route="\/health\/live",status="2xx"\} (\d+)$/m.exec(page)?.[1],
  );
}

// The test starts and replaces processes a dozen times.
test('PROCESSES share a port, a dead one is replaced, SIGHUP replaces all and SIGTERM ends all', {
  timeout: timeLimit(300_000),
}, async () => {
  const env = { PROCESSES: '2', METRICS_TOKEN: metricsToken, LOG_LEVEL: 'fatal' };
  const running = await startServerProcess({ databaseUrl: database.url, env });
  server = running;
  await expect.poll(() => pidsOf('api')).toHaveLength(2);
  await expect.poll(() => pidsOf('worker')).toHaveLength(1);

  // Connections alternate between both processes. The metrics page shows the requests of both, whichever process
  // responds.
  for (let count = 0; count < 6; count += 1) expect((await request(`${running.url}/health/live`)).status).toBe(200);
  await expect.poll(() => countedRequests(running)).toBe(6);
  await expect.poll(() => countedRequests(running)).toBe(6);

  const before = await pidsOf('api');
  process.kill(before[0] as number, 'SIGKILL');
  await expect.poll(async () => (await pidsOf('api')).filter((pid) => !before.includes(pid))).toHaveLength(1);
  expect(await pidsOf('api')).toContain(before[1]);
  for (let count = 0; count < 4; count += 1) expect((await request(`${running.url}/health/ready`)).status).toBe(200);
  expect(await countedRequests(running)).toBe(6);

  const old = [...(await pidsOf('api')), ...(await pidsOf('worker'))];
  let replaced = false;
  const refusals: unknown[] = [];
  const client = (async () => {
    while (!replaced) {
      await request(`${running.url}/health/live`).catch((err) => {
        if (err.cause?.code === 'ECONNREFUSED') refusals.push(err.cause);
      });
      await sleep(10);
    }
  })();
  running.child.kill('SIGHUP');
  await expect.poll(() => old.filter(isAlive)).toEqual([]);
  replaced = true;
  await client;
  expect(refusals).toEqual([]);
  await expect.poll(() => pidsOf('api')).toHaveLength(2);
  await expect.poll(() => pidsOf('worker')).toHaveLength(1);
  expect((await request(`${running.url}/health/ready`)).status).toBe(200);

  const last = [...(await pidsOf('api')), ...(await pidsOf('worker'))];
  expect(await running.stop()).toBe(0);
  expect(last.filter(isAlive)).toEqual([]);
});

test.each([
  [null, 'SIGKILL', /^The first process \(api\) ended before it served, by SIGKILL\. .* whether memory ran out\.$/],
  [null, 'SIGABRT', /^The first process \(api\) ended before it served, by SIGABRT\./],
  [1, null, /^The first process \(api\) ended before it served, with code 1\. What it wrote above says why\.$/],
])(
  'a first process that ends at startup with code %s or by %s causes an error message',
  async (code, signal, sentence) => {
    const supervisor = createSupervisor({
      assignments: [{ roles: ['api'], first: true, processes: 2, embeddedUrl: null }],
      start: (assignment) => ({
        pid: 1,
        assignment,
        isReady: () => false,
        ready: Promise.resolve(false),
        ended: Promise.resolve({ code, signal, served: false, livedMs: 1 }),
        send: () => {},
        onReport: () => {},
        kill: () => {},
      }),
      shutdownTimeoutMs: 1,
      logger: createLogger('silent'),
    });
    await expect(supervisor.start()).rejects.toThrow(sentence);
    await expect(supervisor.start()).rejects.toBeInstanceOf(StartupError);
  },
);

test('a process that repeatedly dies at startup is not started again, and an error message says so', async () => {
  let starts = 0;
  const died = { code: 1, signal: null, served: false, livedMs: 20_000 };
  const supervisor = createSupervisor({
    assignments: [{ roles: ['api'], first: true, processes: 1, embeddedUrl: null }],
    start: (assignment) => {
      starts += 1;
      const served = starts === 1;
      return {
        pid: starts,
        assignment,
        isReady: () => served,
        ready: Promise.resolve(served),
        ended: Promise.resolve(died),
        send: () => {},
        onReport: () => {},
        kill: () => {},
      };
    },
    shutdownTimeoutMs: 1,
    logger: createLogger('silent'),
  });
  const gaveUp = expect(supervisor.gaveUp).rejects.toThrow(/^A process \(api\) ended 4 times in a row/);
  expect(await supervisor.start()).toBe('ready');
  await gaveUp;
  expect(starts).toBe(4);
  await supervisor.stop();
});
