import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { databaseFolder } from '../support/database-folder.ts';

/** A PostgreSQL server for one run, with fsync, that can be killed. Its port does not change. */
export type ChaosPostgres = {
  url: string;
  /** Kills the server with SIGKILL, and starts it on the same files after `downMs`. */
  kill: (downMs: number) => Promise<void>;
  close: () => Promise<void>;
};

export async function startChaosPostgres(): Promise<ChaosPostgres> {
  const dataDir = await databaseFolder('perkwire-chaos-');
  let server = await startEmbeddedPostgres({ dataDir });
  const { url } = server;
  await migrate(url);
  const folder = await dataFolder(url);

  const start = async (): Promise<void> => {
    server = await startEmbeddedPostgres({ dataDir });
    if (server.url !== url) throw new Error('the database came back on another port: something else took its own');
  };
  return {
    url,
    kill: async (downMs) => {
      const [pid] = (await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n');
      process.kill(Number(pid), 'SIGKILL');
      await sleep(downMs);
      await start();
    },
    close: async () => {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 });
    },
  };
}

async function dataFolder(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ data_directory: string }>('show data_directory');
  await client.end();
  return rows[0]?.data_directory ?? '';
}
