import { mkdir, realpath } from 'node:fs/promises';
import { openCluster } from './cluster.ts';
import { connectionUrl, ensureDatabase } from './connection.ts';
import { launch } from './launch.ts';
import { anyAttached, attach, withStartLock } from './locks.ts';
import { findRunning, runningServer, stopRunning } from './server.ts';

export interface EmbeddedPostgresOptions {
  /**
   * Data folder with the cluster, its password and its log. It is created if missing. Use one folder per installation:
   * processes with the same folder share one server.
   */
  dataDir: string;
  log?: (details: object, message: string) => void;
  /**
   * PostgreSQL settings as `name=value`, which override the defaults. For example, `fsync=off` for a disposable
   * database.
   */
  flags?: string[];
}

export interface EmbeddedPostgres {
  /** Connection URL: `postgres://perkwire:<password>@127.0.0.1:<port>/perkwire`. */
  url: string;
  /**
   * Restarts the server if its process has died.
   * @throws Error if the server can't be started on its port
   */
  ensureRunning(): Promise<void>;
  /** Stops the server unless another running process uses it. Safe to call repeatedly. */
  stop(): Promise<void>;
  /**
   * Whether the server was already running, either because another process started it or because a killed process left
   * it behind.
   */
  reused: boolean;
}

/**
 * Starts PostgreSQL on a data folder, or attaches to the server that is already running there. The server keeps running
 * if this process is killed, and the next start attaches to it.
 * @throws Error with the end of the server log if the server is not ready within 60 s
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
