import { mkdir, realpath } from 'node:fs/promises';
import { openCluster } from './cluster.ts';
import { connectionUrl, ensureDatabase } from './connection.ts';
import { launch } from './launch.ts';
import { anyAttached, attach, withStartLock } from './locks.ts';
import { findRunning, runningServer, stopRunning } from './server.ts';

export interface EmbeddedPostgresOptions {
  /**
   * Data folder, created if missing; contains the cluster, its password and its log. One per installation: processes
   * that share it share the server.
   */
  dataDir: string;
  log?: (details: object, message: string) => void;
  /** Server settings as `name=value` that override ours, for example `fsync=off` for a disposable database. */
  flags?: string[];
}

export interface EmbeddedPostgres {
  /** `postgres://perkwire:<password>@127.0.0.1:<port>/perkwire` */
  url: string;
  /** Starts the server again if its process has died. @throws if it can't be started on its port */
  ensureRunning(): Promise<void>;
  /** Stops the server unless another running process uses it, too. Can be called twice. */
  stop(): Promise<void>;
  /** Whether the server was already running: started by another process, or left by a killed one. */
  reused: boolean;
}

/**
 * Starts PostgreSQL on a data folder, or attaches to the server that already runs on it. The server survives if this
 * process is killed; the next start takes it over. @throws if it is not ready within 60 s, with the end of its log in
 * the message
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
