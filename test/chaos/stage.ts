import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createPublisher } from '../../bench/catalogue.ts';
import { findWritableUrl } from '../../src/platform/db/find-writable.ts';
import { freePort, type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { type ChaosPostgres, startChaosPostgres } from './postgres.ts';
import { type ChaosReceiver, startChaosReceiver } from './receiver.ts';

/** The database that the processes share. */
type Database = { url: string; close: () => Promise<void> };

/** One API, two workers, a database and a receiver, each of which can be stopped separately. */
export type Stage<Postgres extends Database = ChaosPostgres> = {
  postgres: Postgres;
  pool: pg.Pool;
  receiver: ChaosReceiver;
  apiUrl: () => string;
  keys: string[];
  /** Stops a process with the given signal and starts it again. Resolves when the new process is ready. */
  replace: (name: ProcessName, how: 'SIGKILL' | 'SIGTERM', downMs: number) => Promise<void>;
  processOf: (name: ProcessName) => ServerProcess;
  close: () => Promise<void>;
};

export const processNames = ['api', 'worker-1', 'worker-2'] as const;
type ProcessName = (typeof processNames)[number];

/** Delay before each attempt, in seconds. Short delays keep the run short. */
const retryStepsS = [0, ...Array.from({ length: 19 }, () => 1)];

export const openStage = async (endpoints: number, draw: () => number): Promise<Stage> =>
  openStageOn(await startChaosPostgres(), endpoints, draw);

/**
 * @param postgres a database with the schema
 * @param variables environment variables of the processes, in addition to those that every stage sets
 */
export async function openStageOn<Postgres extends Database>(
  postgres: Postgres,
  endpoints: number,
  draw: () => number,
  variables: Record<string, string> = {},
): Promise<Stage<Postgres>> {
  const pool = new pg.Pool({ connectionString: await findWritableUrl(postgres.url), max: 2 });
  pool.on('error', () => {}); // the database is killed on purpose
  const receiver = await startChaosReceiver(draw);
  const keys = Array.from({ length: endpoints }, (_, index) => `chaos-${index}`);
  for (const key of keys) await createPublisher(pool, { key, campaigns: 2 });
  const ports = { api: await freePort(), 'worker-1': await freePort(), 'worker-2': await freePort() };
  const start = (name: ProcessName): Promise<ServerProcess> => {
    const roles = { ROLES: name === 'api' ? 'api' : 'worker', LOG_LEVEL: process.env.CHAOS_LOG_LEVEL ?? 'fatal' };
    const env = { ...variables, ...roles };
    return startServerProcess({ databaseUrl: postgres.url, port: ports[name], env });
  };
  const processes = {
    api: await start('api'),
    'worker-1': await start('worker-1'),
    'worker-2': await start('worker-2'),
  };
  const stage: Stage<Postgres> = {
    postgres,
    pool,
    receiver,
    apiUrl: () => processes.api.url,
    keys,
    replace: async (name, how, downMs) => {
      if (how === 'SIGKILL') await processes[name].kill();
      else await processes[name].stop();
      await sleep(downMs);
      processes[name] = await start(name);
    },
    processOf: (name) => processes[name],
    close: async () => {
      await Promise.all(Object.values(processes).map((serverProcess) => serverProcess.stop()));
      await pool.end();
      receiver.close();
      await postgres.close();
    },
  };
  try {
    for (const [index, key] of keys.entries()) await saveEndpoint(stage.apiUrl(), key, receiver.urlOf(index));
    await pool.query('update webhook_endpoints set retry_steps_s = $1', [retryStepsS]);
    return stage;
  } catch (err) {
    await stage.close(); // processes left behind would keep the test run from ending
    throw err;
  }
}

/** Saves an endpoint, and retries while the service is unavailable (503), as clients are required to do. */
async function saveEndpoint(apiUrl: string, key: string, url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${apiUrl}/manage/v1/webhook-endpoints/usp.selection?api_key=${key}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ url, method: 'POST', enabled: true }),
    });
    if (answer.ok) return;
    if (answer.status !== 503) throw new Error(`the endpoint was not saved: ${answer.status}`);
    await sleep(1_000 * Number(answer.headers.get('retry-after')));
  }
}
