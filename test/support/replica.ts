import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts';
import { databaseFolder } from './database-folder.ts';
import { type OwnPostgres, serverProcesses } from './postgres.ts';
import { putTemplate } from './template.ts';

/** A streaming replica of a server that was started from the template database. */
export type ReplicaServer = {
  url: string;
  query: OwnPostgres['query'];
  signalAll: OwnPostgres['signalAll'];
  /** Starts the server again if its process has died. */
  ensureRunning: () => Promise<void>;
  close: () => Promise<void>;
};

/**
 * Starts a streaming replica. It begins as a copy of the same stopped server as its primary, so that no base backup is
 * needed. Everything that the primary has written since is streamed.
 */
export async function startReplica(primary: OwnPostgres): Promise<ReplicaServer> {
  const dataDir = await databaseFolder('perkwire-replica-');
  await putTemplate(dataDir);
  await writeFile(join(dataDir, 'postgres', 'standby.signal'), '');
  const { hostname, port, username, password } = new URL(primary.url);
  const primaryInfo = `host=${hostname} port=${port} user=${username} password=${password}`;
  const flags = ['fsync=off', `primary_conninfo=${primaryInfo}`, 'wal_retrieve_retry_interval=100ms'];
  const server = await startEmbeddedPostgres({ dataDir, flags });
  const admin = new pg.Pool({ connectionString: server.url, max: 1, application_name: 'perkwire-test-admin' });
  admin.on('error', () => {});
  return {
    url: server.url,
    query: async (text) => (await admin.query(text)).rows,
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
