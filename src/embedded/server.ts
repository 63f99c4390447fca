import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runProgram } from './account.ts';
import type { Cluster } from './cluster.ts';
import { probe, waitUntilReady } from './connection.ts';
import { logTail } from './log.ts';
import { commandLine, processIdentity } from './processes.ts';

/** Maximum time to wait for crash recovery, in milliseconds. */
export const readyLimitMs = 60_000;
/**
 * Time to wait for a response from an unidentified process, in milliseconds. If the system hides command lines, a
 * process that does not respond in this time is assumed to be another program.
 */
const unknownLimitMs = 5_000;
/**
 * Timeout for a fast shutdown, which writes a checkpoint, in milliseconds. After that, an immediate shutdown follows,
 * which makes crash recovery necessary at the next start.
 */
const fastStopLimitMs = 60_000;
const immediateStopLimitMs = 15_000;

/** A running server process, as recorded in `postmaster.pid`. */
export interface Server {
  pid: number;
  port: number;
}

/**
 * Waits for the server that is already running on this cluster, and returns it. Returns `undefined` if none exists. A
 * stale `postmaster.pid` is removed only if another program of the same user now has its PID. In all other cases,
 * PostgreSQL removes the file itself.
 * @throws Error if the server is not ready within 60 s
 */
export async function findRunning(cluster: Cluster): Promise<Server | undefined> {
  const server = await runningServer(cluster);
  if (server === undefined) return undefined;
  const certain = (await isPostmaster(server.pid, cluster.folder)) === true;
  const identity = await processIdentity(server.pid);
  const isAlive = async () => (await processIdentity(server.pid)) === identity;
  const answer = await waitUntilReady(
    { ...server, password: cluster.password },
    isAlive,
    certain ? readyLimitMs : unknownLimitMs,
  );
  if (answer === 'ready') return server;
  if (answer === 'exited') return undefined;
  if (!certain && answer === 'ECONNREFUSED') {
    await rm(pidFile(cluster), { force: true });
    return undefined;
  }
  throw new Error(
    `PostgreSQL runs as process ${server.pid} but is not usable (${answer}):\n${await logTail(cluster.logFile, 0)}`,
  );
}

/** Stops the server of the cluster, even if another process started it. Does nothing if no server is running. */
export async function stopRunning(cluster: Cluster): Promise<void> {
  const server = await runningServer(cluster);
  if (server === undefined) return;
  const identity = await processIdentity(server.pid);
  const gone = async (limitMs: number) => {
    const until = performance.now() + limitMs;
    while ((await processIdentity(server.pid)) === identity) {
      if (performance.now() > until) return false;
      await sleep(20);
    }
    return true;
  };
  await askToStop(cluster, server.pid, 'fast');
  if (await gone(fastStopLimitMs)) return;
  cluster.log({ afterMs: fastStopLimitMs }, 'embedded database did not stop in time; stopping it immediately');
  await askToStop(cluster, server.pid, 'immediate');
  if (!(await gone(immediateStopLimitMs))) throw new Error(`PostgreSQL (process ${server.pid}) does not stop`);
}

/** Returns the port that the last server used. It is read from the PID file, which remains after a crash. */
export async function lastPort(cluster: Cluster): Promise<number> {
  return (await readPidFile(cluster))?.port ?? 0;
}

/** Returns the running server, even if it is not ready yet. */
export async function runningServer(cluster: Cluster): Promise<Server | undefined> {
  const server = await readPidFile(cluster);
  if (server === undefined || (await processIdentity(server.pid)) === undefined) return undefined;
  if ((await isPostmaster(server.pid, cluster.folder)) !== false) return server;
  // If the data folder was moved while the server was running, the server's command line still contains the old path,
  // so check whether a server responds at the port. Removing the file would otherwise allow a second server on the same
  // data.
  const answer = await probe({ ...server, password: cluster.password });
  if (answer === 'ready' || answer === '57P03') return server;
  cluster.log({ pid: server.pid }, 'removing stale pid file of the embedded database');
  await rm(pidFile(cluster), { force: true });
  return undefined;
}

/**
 * Whether a process is the PostgreSQL server of a folder, or `undefined` if the system does not provide that
 * information.
 */
async function isPostmaster(pid: number, folder: string): Promise<boolean | undefined> {
  const command = await commandLine(pid);
  return command?.includes(` -D ${folder} `);
}

async function askToStop(
  { binaries, folder, account }: Cluster,
  pid: number,
  mode: 'fast' | 'immediate',
): Promise<void> {
  // Windows has no signals: Node.js would terminate the process immediately.
  if (process.platform === 'win32')
    return runProgram(binaries.pg_ctl, ['stop', '-D', folder, '-m', mode, '-W'], account);
  try {
    process.kill(pid, mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err;
  }
}

async function readPidFile(cluster: Cluster): Promise<Server | undefined> {
  const text = await readFile(pidFile(cluster), 'utf8').catch(() => '');
  const lines = text.split('\n');
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  return pid > 0 && port > 0 ? { pid, port } : undefined;
}

function pidFile({ folder }: Cluster): string {
  return join(folder, 'postmaster.pid');
}
