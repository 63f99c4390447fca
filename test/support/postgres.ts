import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts';
import { databaseFolder } from './database-folder.ts';
import { putTemplate } from './template.ts';

/** A PostgreSQL server for one test file, which may break it. */
export type OwnPostgres = {
  url: string;
  dataDir: string;
  /** Runs a statement as a superuser. */
  query: <Row extends pg.QueryResultRow>(text: string) => Promise<Row[]>;
  /** Makes every commit wait for a replica that never responds. */
  silenceStandby: () => Promise<void>;
  answerStandby: () => Promise<void>;
  /** Sends a signal to every process of the server. */
  signalAll: (signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL') => void;
  /** Starts the server again if its process has died. */
  ensureRunning: () => Promise<void>;
  close: () => Promise<void>;
};

/** Starts a server with the schema and the demo catalogue. */
export async function startOwnPostgres({ flags = [] as string[] } = {}): Promise<OwnPostgres> {
  const dataDir = await databaseFolder('perkwire-own-');
  await putTemplate(dataDir);
  const server = await startEmbeddedPostgres({ dataDir, flags: ['fsync=off', ...flags] });
  const admin = new pg.Pool({ connectionString: server.url, max: 1, application_name: 'perkwire-test-admin' });
  admin.on('error', () => {});
  const query: OwnPostgres['query'] = async (text) => (await admin.query(text)).rows;
  const setStandby = async (name: string): Promise<void> => {
    await query(`alter system set synchronous_standby_names = '${name}'`);
    await query('select pg_reload_conf()');
  };
  return {
    url: server.url,
    dataDir,
    query,
    silenceStandby: async () => {
      await setStandby('ghost');
      await untilCommitsWait(server.url, query);
    },
    answerStandby: () => setStandby(''),
    signalAll: (signal) => {
      const ids = serverProcesses(join(dataDir, 'postgres'));
      for (const id of signal === 'SIGCONT' ? ids.reverse() : ids) process.kill(id, signal);
    },
    ensureRunning: server.ensureRunning,
    close: async () => {
      await admin.end();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 });
    },
  };
}

/**
 * Waits until a commit has waited for the replica, because the setting only takes effect some time after the reload.
 */
async function untilCommitsWait(url: string, query: OwnPostgres['query']): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'perkwire-test-waits' });
  await client.connect();
  for (let waited = false; !waited; ) {
    let committed = false;
    const commit = client.query("select pg_logical_emit_message(true, 'test', '')").then(() => {
      committed = true;
    });
    while (!committed && !waited) {
      const rows = await query(
        `select pg_cancel_backend(pid) from pg_stat_activity
        where application_name = 'perkwire-test-waits' and wait_event = 'SyncRep'`,
      );
      waited = rows.length > 0;
    }
    await commit;
  }
  await client.end();
}

/** Returns the processes of the server on a data folder, starting with its main process. */
export function serverProcesses(folder: string): number[] {
  const postmaster = Number(/^\d+/.exec(readFileSync(join(folder, 'postmaster.pid'), 'utf8'))?.[0]);
  return [postmaster, ...childrenOf(postmaster)];
}

/**
 * Returns the child processes of a process, according to proc(5): the parent is the second field after the name in
 * parentheses.
 */
const childrenOf = (pid: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid;
      } catch {
        return false; // the process has ended in the meantime
      }
    })
    .map(Number);
