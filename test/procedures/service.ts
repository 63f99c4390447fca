import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { Agent, request } from 'undici';
import { createPublisher } from '../../bench/catalogue.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { createRandom } from '../../src/platform/lib/random.ts';
import { startChaosPostgres } from '../chaos/postgres.ts';
import { type ChaosReceiver, startChaosReceiver } from '../chaos/receiver.ts';
import { judge } from '../chaos/verdict.ts';
import { processSecrets, type ServerProcess, startServerProcess } from '../support/server-process.ts';

export type Env = Record<string, string>;

const publicUrl = 'http://perks.test';
const count = 2;

/** Child processes, which are stopped even if a procedure fails. */
const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL'); // does nothing to one that has ended
});

type ServiceAnswer = { status: number; location: string; body: Buffer };

/** Two processes behind a load balancer, so that one can be replaced while the other handles requests. */
export type Service = {
  env: Env;
  /** Replaces one process after another. From then on, the processes also have these environment variables. */
  roll: (variables: Env, folder?: string) => Promise<void>;
  /** Calls the service with a public or relative URL. Retries if the connection is refused. */
  call: (method: 'GET' | 'POST' | 'PUT', url: string, body?: object) => Promise<ServiceAnswer>;
  stop: () => Promise<void>;
};

export async function startService(databaseUrl: string, variables: Env = {}): Promise<Service> {
  const env: Env = { ...processSecrets, PUBLIC_URL: publicUrl, DATABASE_URL: databaseUrl, ...variables };
  const start = async (folder = '.'): Promise<ServerProcess> => {
    const started = await startServerProcess({ databaseUrl, env, folder });
    children.add(started.child);
    return started;
  };
  const processes = [await start(), await start()];
  const direct = new Agent({ pipelining: 0 }); // a connection for each call, as there may be another process next
  let turn = 0;
  return {
    env,
    roll: async (more, folder) => {
      Object.assign(env, more);
      for (let index = 0; index < count; index += 1) {
        const before = processes[index] as ServerProcess;
        processes[index] = await start(folder);
        await before.stop();
      }
    },
    call: async (method, url, body) => {
      for (let tries = 1; ; tries += 1) {
        turn += 1;
        const target = (processes[turn % count] as ServerProcess).url + url.replace(publicUrl, '');
        try {
          const answer = await request(target, {
            method,
            dispatcher: direct,
            ...(body === undefined
              ? {}
              : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
          });
          return {
            status: answer.statusCode,
            location: String(answer.headers.location ?? ''),
            body: Buffer.from(await answer.body.arrayBuffer()),
          };
        } catch (err) {
          if (tries === 5) throw err;
        }
      }
    },
    stop: async () => {
      await Promise.all(processes.map((server) => server.stop()));
      await direct.close();
    },
  };
}

/**
 * Runs commands exactly as documented.
 * @throws if a command fails
 */
export async function runCommands(commands: string, env: Env, cwd = '.'): Promise<string> {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', commands], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed, code] = await Promise.all([text(child.stdout), once(child, 'close').then(([status]) => status)]);
  if (code !== 0) throw new Error(`exit code ${code} of: ${commands}\n${printed}`);
  return printed;
}

export type Users = {
  wrapped: string[];
  /** Beacon URLs that were answered with 200. */
  pixels: string[];
  /** Resolves when this many more sessions have been wrapped. */
  more: (wraps: number) => Promise<void>;
  stop: () => Promise<void>;
};

const key = 'procedures';
const userCount = 8;
type Fetched = { data: { session_id: string; offers: { pixel: string }[] } };

/** Starts a service with a publisher, on an empty database. */
export async function startNewService(databaseUrl: string, pool: pg.Pool, variables: Env = {}): Promise<Service> {
  await migrate(databaseUrl);
  await createPublisher(pool, { key, campaigns: 4 });
  return startService(databaseUrl, variables);
}

/** Adds a receiver for the publisher's webhooks. */
export async function addEndpoint(service: Service, pool: pg.Pool): Promise<ChaosReceiver> {
  const receiver = await startChaosReceiver(createRandom(1));
  await expectOk(service, 'PUT', '/manage/v1/webhook-endpoints/usp.selection', {
    url: receiver.urlOf(0),
    method: 'POST',
    enabled: true,
    headers: { 'x-shop': 'sealed' },
  });
  await pool.query('update webhook_endpoints set retry_steps_s = $1', [Array.from({ length: 20 }, () => 1)]);
  return receiver;
}

/** Number of calls answered with 503. An overloaded machine rejects some calls during any procedure. */
let refused = 0;

/**
 * Calls the service, and retries on 503, as clients are required to do.
 * @throws if the final status is not 2xx
 */
export async function expectOk(
  { call }: Service,
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  body?: object,
): Promise<Buffer> {
  const url = path.includes('?') ? path : `${path}?api_key=${key}`;
  let answer = await call(method, url, body);
  while (answer.status === 503) {
    refused += 1;
    await new Promise((resolve) => setTimeout(resolve, 1000));
    answer = await call(method, url, body);
  }
  if (answer.status >= 300) throw new Error(`${method} ${url.split('?')[0]} was answered ${answer.status}`);
  return answer.body;
}

/** Starts users who repeatedly fetch offers, see the first one and wrap the session. */
export function startUsers(service: Service): Users {
  const [wrapped, pixels]: [string[], string[]] = [[], []];
  let running = true;
  let failure: unknown;
  const waiting: (() => void)[] = [];
  const visit = async (user: string): Promise<void> => {
    const body = { placement: 'checkout', pub_user_id: user };
    const fetched = await expectOk(service, 'POST', '/native/v4/offers.json', body);
    const { session_id, offers } = (JSON.parse(fetched.toString()) as Fetched).data;
    const pixel = offers[0]?.pixel ?? '';
    await expectOk(service, 'GET', pixel);
    pixels.push(pixel);
    await expectOk(service, 'POST', `/sdk/v4/usp/session/${session_id}.json`, { action: 'wrap' });
    wrapped.push(session_id);
  };
  const done = Promise.all(
    Array.from({ length: userCount }, async (_, index) => {
      while (running)
        await visit(`user-${index}`).catch((err) => {
          failure ??= err;
          running = false;
        });
      for (const wake of waiting) wake();
    }),
  );
  return {
    wrapped,
    pixels,
    more: async (wraps) => {
      const until = wrapped.length + wraps;
      while (running && wrapped.length < until) await new Promise((resolve) => setTimeout(resolve, 50));
      if (failure !== undefined) throw failure;
    },
    stop: async () => {
      running = false;
      await done;
      if (failure !== undefined) throw failure;
    },
  };
}

/**
 * Checks that everything that was acknowledged is stored, and delivered exactly once.
 * @returns the measured figures
 */
export async function verify(
  { pool, receiver }: { pool: pg.Pool; receiver: ChaosReceiver },
  users: Users,
): Promise<string> {
  const verdict = await judge({ pool, receiver }, users.wrapped);
  const { rows } = await pool.query<{ seen: number }>(
    "select count(distinct session_id)::int as seen from events where kind = 'impression'",
  );
  if (!verdict.ok || rows[0]?.seen !== users.pixels.length)
    throw new Error(`something was lost: ${JSON.stringify({ ...verdict, seen: rows[0]?.seen })}`);
  return `${users.wrapped.length} wraps, ${users.pixels.length} beacons: ${refused} refused and repeated, 0 lost`;
}

const reportLimitMs = 120_000;

/** Waits until the sessions from before and after the backup are in the reports, then compares all totals. */
export async function verifyReports({ env }: Service, pool: pg.Pool): Promise<string> {
  const sql = `select (select count(*)::int from sessions) as stored,
    (select sum(sessions)::int from minute_rollups) as reported`;
  const endMs = performance.now() + reportLimitMs;
  for (;;) {
    const { rows } = await pool.query<{ stored: number; reported: number }>(sql);
    const [counts] = rows;
    if (counts !== undefined && counts.stored === counts.reported)
      return (await runCommands('npm run --silent reports:verify', env)).trim();
    if (performance.now() > endMs) throw new Error(`reports are not exact: ${JSON.stringify(counts)}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

export const openPool = (url: string): pg.Pool => {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => {});
  return pool;
};

/**
 * Runs a procedure on a new service while users fetch offers, see them and wrap.
 * @returns the verdict on wraps, webhooks and reports
 * @throws if anything is lost
 */
export async function underLoad(follow: (service: Service, users: Users) => Promise<void>): Promise<string> {
  const postgres = await startChaosPostgres();
  const pool = openPool(postgres.url);
  const service = await startNewService(postgres.url, pool);
  const receiver = await addEndpoint(service, pool);
  const users = startUsers(service);
  try {
    await follow(service, users);
    await users.stop();
    return await verify({ pool, receiver }, users);
  } finally {
    await users.stop().catch(() => {});
    await service.stop();
    receiver.close();
    await pool.end();
    await postgres.close();
  }
}
