import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { ensureBuilt } from './resources.ts';

/** Secrets of servers that run as processes of their own in tests and benches. */
export const processSecrets = {
  TOKEN_KEYS: `1:${'process-token-key-'.repeat(3)}`,
  USER_PEPPER: 'process-pepper-'.repeat(3),
  SECRETS_KEY: Buffer.alloc(32, 9).toString('base64'),
};

export type ServerProcess = {
  port: number;
  url: string;
  child: ChildProcess;
  /** SIGTERM, and waits for the end. @returns the exit code */
  stop: () => Promise<number | null>;
  /** SIGKILL, and waits for the end. */
  kill: () => Promise<void>;
};

export type ServerProcessOptions = {
  databaseUrl: string;
  port?: number;
  env?: Record<string, string>;
  /** Of a checkout that was built; default: this one. */
  folder?: string;
  /** Options of Node itself. */
  execArgv?: string[];
  /** What Node runs, from the folder, with its arguments. */
  program?: readonly string[];
};

/**
 * The built server in a process of its own, as in production; webhooks may go to loopback. Resolves when it is ready.
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
 * A port that was free a moment ago, and that no outgoing connection is given: a process that is restarted on it finds
 * it free again.
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

/** Signals a process and waits for its end. @returns its exit code; null when the signal ended it */
export function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code));
    child.kill(signal);
  });
}

/** Resolves when the URL answers 200; throws when the process ends before, or after 2 minutes. */
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
