import { mkdir, realpath } from 'node:fs/promises';
import { openCluster } from './cluster.ts';
import { connectionUrl, ensureDatabase } from './connection.ts';
import { launch } from './launch.ts';
import { anyAttached, attach, withStartLock } from './locks.ts';
import { findRunning, runningServer, stopRunning } from './server.ts';

export interface EmbeddedPostgresOptions {
  /**
   * Made when missing; holds the cluster, its password and its log. One per installation: processes that share it share
   * the server.
   */
  dataDir: string;
  log?: (line: string) => void;
  /** Server settings as `name=value` that override ours, for example `fsync=off` for a database that may be lost. */
  flags?: string[];
}

export interface EmbeddedPostgres {
  /** `postgres://perkwire:<password>@127.0.0.1:<port>/perkwire` */
  url: string;
  /** Starts the server again where its process has died. @throws when it cannot be started on its port */
  ensureRunning(): Promise<void>;
  /** Stops the server, unless another living process uses it too. Safe to call twice. */
  stop(): Promise<void>;
  /** Whether the server was already running: started by another process, or left by one that was killed. */
  reused: boolean;
}

/**
 * Starts PostgreSQL on a data folder, or attaches to the server that already runs on it. The server outlives this
 * process when it is killed; the next start takes it over. Throws when it is not ready within 60 s, with the end of its
 * log in the message.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log = () => {}, flags = [] } = options;
  await mkdir(options.dataDir, { recursive: true });
  const dataDir = await realpath(options.dataDir);
  return withStartLock(dataDir, async () => {
    const detach = await attach(dataDir);
    try {
      const cluster = await openCluster({ dataDir, flags, log });
      const running = await findRunning(cluster);
      const { port } = running ?? (await launch(cluster));
      const address = { port, password: cluster.password };
      const leave = async () => {
        await detach();
        if (!(await anyAttached(dataDir))) await stopRunning(cluster);
      };
      await ensureDatabase(address).catch(async (err) => {
        await leave();
        throw err;
      });
      let stopping: Promise<void> | undefined;
      const stop = () => {
        stopping ??= withStartLock(dataDir, leave);
        return stopping;
      };
      const ensureRunning = () =>
        withStartLock(dataDir, async () => {
          if (stopping !== undefined) return;
          const now = (await runningServer(cluster)) ?? (await launch(cluster, port));
          if (now.port !== port) throw new Error(`PostgreSQL runs on port ${now.port} now: start the service again`);
        });
      return { url: connectionUrl(address), ensureRunning, stop, reused: running !== undefined };
    } catch (err) {
      await detach();
      throw err;
    }
  });
}
