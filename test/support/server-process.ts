import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { ensureBuilt } from './resources.ts';

/** Secrets of servers that tests and benches run as separate processes. */
export const processSecrets = {
  TOKEN_KEYS: `1:${'process-token-key-'.repeat(3)}`,
  USER_PEPPER: 'process-pepper-'.repeat(3),
  SECRETS_KEY: Buffer.alloc(32, 9).toString('base64'),
};

export type ServerProcess = {
  port: number;
  url: string;
  child: ChildProcess;
  /**
   * Sends SIGTERM, and waits until the process exits.
   * @returns the exit code
   */
  stop: () => Promise<number | null>;
  /** Sends SIGKILL, and waits until the process exits. */
  kill: () => Promise<void>;
};

export type ServerProcessOptions = {
  databaseUrl: string;
  port?: number;
  env?: Record<string, string>;
  /** Folder of a built checkout. Default: this one. */
  folder?: string;
  /** Options for Node itself. */
  execArgv?: string[];
  /** Program that Node runs, relative to the folder, with its arguments. */
  program?: readonly string[];
};

/**
 * Starts the built server in a separate process, as in production. Webhooks may go to loopback addresses. Resolves when
 * the server is ready.
 */
export async function startServerProcess({
  databaseUrl,
  port,
  env = {},
  folder = '.',
  execArgv = [],
  program = ['dist/server.js'],
}: ServerProcessOptions): Promise<ServerProcess> {
  if (folder === '.') await ensureBuilt();
  const usedPort = port ?? (await freePort());
  const child = spawn(process.execPath, [...execArgv, ...program], {
    cwd: folder,
    env: {
      ...process.env,
      NODE_ENV: 'production',
      ...processSecrets,
      DATABASE_URL: databaseUrl,
      PORT: String(usedPort),
      PUBLIC_URL: `http://localhost:${usedPort}`,
      LOG_LEVEL: 'warn',
      WEBHOOK_ALLOW_NETS: '127.0.0.0/8',
      WEBHOOK_ALLOW_HTTP: 'true',
      IMAGE_CACHE_DISK_MB: '0',
      ...env,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const url = `http://127.0.0.1:${usedPort}`;
  await untilReady(`${url}/health/ready`, child);
  return {
    port: usedPort,
    url,
    child,
    stop: () => endChild(child, 'SIGTERM'),
    kill: () => endChild(child, 'SIGKILL').then(() => {}),
  };
}

/**
 * Returns a port that was free a moment ago. It is outside the range for outgoing connections, so a process that
 * restarts on it finds it free again.
 */
export async function freePort(): Promise<number> {
  const server = createServer().listen(randomInt(20_000, 32_000), '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!isFree) return freePort();
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Signals a process and waits until it exits.
 * @returns the exit code, or null if the signal ended the process
 */
export function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code));
    child.kill(signal);
  });
}

/**
 * Resolves when the URL returns 200.
 * @throws if the process exits first, or after 2 minutes
 */
export async function untilReady(url: string, child: ChildProcess, limitMs = 120_000): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (performance.now() < endMs) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`the server ended with ${child.exitCode ?? child.signalCode}`);
    const ok = await fetch(url).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${url} did not become ready`);
}
