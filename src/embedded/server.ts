import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runProgram } from './account.ts';
import type { Cluster } from './cluster.ts';
import { probe, waitUntilReady } from './connection.ts';
import { logTail } from './log.ts';
import { commandLine, processIdentity } from './processes.ts';

/** Crash recovery is awaited this long. */
export const readyLimitMs = 60_000;
/** Where the system hides command lines, a server that answers nothing for this long is taken for another program. */
const unknownLimitMs = 5_000;
/**
 * A fast shutdown writes a checkpoint; after this long an immediate shutdown follows, which leaves the work to crash
 * recovery.
 */
const fastStopLimitMs = 60_000;
const immediateStopLimitMs = 15_000;

/** A server process as `postmaster.pid` names it. */
export interface Server {
  pid: number;
  port: number;
}

/**
 * The server that already runs on this cluster, once it is ready; `undefined` when there is none. Throws when there is
 * one and it is not ready within 60 s. PostgreSQL clears a `postmaster.pid` whose process is dead by itself, but
 * refuses to start while another program of the same user has that pid: in that case alone the file is removed here.
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

/** Stops the server of the cluster, also one that another process started; does nothing when none runs. */
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
  cluster.log(`PostgreSQL did not stop within ${fastStopLimitMs / 1000} s and is now stopped immediately`);
  await askToStop(cluster, server.pid, 'immediate');
  if (!(await gone(immediateStopLimitMs))) throw new Error(`PostgreSQL (process ${server.pid}) does not stop`);
}

/** The port of the last server, which a crash leaves in its pid file. */
export async function lastPort(cluster: Cluster): Promise<number> {
  return (await readPidFile(cluster))?.port ?? 0;
}

/** The server whose process lives, ready or not. */
export async function runningServer(cluster: Cluster): Promise<Server | undefined> {
  const server = await readPidFile(cluster);
  if (server === undefined || (await processIdentity(server.pid)) === undefined) return undefined;
  if ((await isPostmaster(server.pid, cluster.folder)) !== false) return server;
  // Its command line names another folder when the data folder was moved while it ran; taking the file away then would
  // let a second server onto the same data, so the answer at the port decides.
  const answer = await probe({ ...server, password: cluster.password });
  if (answer === 'ready' || answer === '57P03') return server;
  cluster.log(`Process ${server.pid} is not the database: removing the pid file it was left in`);
  await rm(pidFile(cluster), { force: true });
  return undefined;
}

/** `undefined` where the system does not show it. */
async function isPostmaster(pid: number, folder: string): Promise<boolean | undefined> {
  const command = await commandLine(pid);
  return command?.includes(` -D ${folder} `);
}

async function askToStop(
  { binaries, folder, account }: Cluster,
  pid: number,
  mode: 'fast' | 'immediate',
): Promise<void> {
  // Windows has no signals to send: Node.js would end the process at once.
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
