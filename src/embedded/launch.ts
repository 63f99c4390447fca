import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { programEnv } from './account.ts';
import type { Cluster } from './cluster.ts';
import { waitUntilReady } from './connection.ts';
import { logTail, rotateLog } from './log.ts';
import { lastPort, readyLimitMs, type Server } from './server.ts';

const attempts = 60;
const retryMs = 500;
/** Log message if the port is in use, either by another program or by a leftover process of a killed server. */
const portError = /could not bind|could not create any TCP\/IP sockets/;
/** Log message if processes of a killed server have not exited yet. */
const leftoverError = /shared memory block .*is still in use|lock file "postmaster\.pid" already exists/;

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '128MB',
  max_connections: '200',
  max_wal_size: '1GB',
  fsync: 'on',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/**
 * Starts the server and waits until it responds, including crash recovery if necessary. Without a fixed port, it reuses
 * the port from before the crash, so that other attached processes can reconnect. If that port does not become free in
 * time, any free port is used.
 * @throws Error with the end of the server log
 */
export async function launch(cluster: Cluster, fixedPort?: number): Promise<Server> {
  let preferredPort = await lastPort(cluster);
  for (let attempt = 1; ; attempt += 1) {
    const logStart = await rotateLog(cluster.logFile);
    const port = fixedPort ?? (await freePort(preferredPort));
    const child = await spawnServer(cluster, port);
    const isAlive = async () => child.exitCode === null && child.signalCode === null;
    const answer = await waitUntilReady({ port, password: cluster.password }, isAlive, readyLimitMs);
    if (answer === 'ready' && child.pid !== undefined && (await isAlive())) return { pid: child.pid, port };
    const tail = await logTail(cluster.logFile, logStart);
    const isPortInUse = portError.test(tail);
    if (answer !== 'exited' || attempt >= attempts || !(isPortInUse || leftoverError.test(tail)))
      throw startError(child, answer, tail);
    if (isPortInUse) preferredPort = 0;
    await sleep(retryMs);
  }
}

function startError(child: ChildProcess, answer: string, tail: string): Error {
  // Don't stop a server that is still recovering: stopping would restart the recovery. The next start finds the server
  // and waits for it.
  const recovering = answer === '57P03';
  if (!recovering) child.kill('SIGQUIT');
  const reason = {
    exited: 'ended while starting',
    '57P03': 'is still recovering after 60 s; start again to continue waiting',
    '28P01': 'rejected the stored password',
  }[answer];
  return new Error(
    `PostgreSQL ${reason ?? `was not ready after ${readyLimitMs / 1000} s (${answer})`}. The end of its log:\n${tail}`,
  );
}

/**
 * Spawns the server in a separate process group, so that Ctrl-C in the terminal does not stop it before this process
 * has written its buffered data.
 */
async function spawnServer(
  { binaries, folder, account, logFile, flags }: Cluster,
  port: number,
): Promise<ChildProcess> {
  const fixed = Object.entries({ ...settings, port }).map(([name, value]) => `${name}=${value}`);
  const args = ['-D', folder, ...[...fixed, ...flags].flatMap((setting) => ['-c', setting])];
  const log = await open(logFile, 'a', 0o600);
  try {
    const child = spawn(binaries.postgres, args, {
      ...account,
      cwd: dirname(binaries.postgres),
      env: programEnv(),
      detached: true,
      windowsHide: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    await once(child, 'spawn');
    child.unref();
    return child;
  } finally {
    await log.close();
  }
}

/**
 * Port range for the server. It lies below the range for outgoing connections, which could otherwise take the port
 * during a restart.
 */
const [firstPort, lastPossiblePort] = [20_000, 32_000];
const portTries = 100;
/** Time to wait for leftover processes of a killed server to release its port, in milliseconds. */
const portWaitMs = 10_000;

/** Returns the preferred port if it becomes free in time, or else any free port. */
async function freePort(preferred: number): Promise<number> {
  for (const until = performance.now() + portWaitMs; preferred !== 0 && performance.now() < until; await sleep(50))
    if (await isFree(preferred)) return preferred;
  for (let tries = 0; tries < portTries; tries += 1) {
    const port = randomInt(firstPort, lastPossiblePort);
    if (await isFree(port)) return port;
  }
  throw new Error(`No free TCP port between ${firstPort} and ${lastPossiblePort} on 127.0.0.1.`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
