import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { startEmbeddedPostgres } from '../src/db/embedded/index.ts';
import { migrate } from '../src/db/migrate.ts';
import { createPool } from '../src/db/pool.ts';

export const benchSecrets = {
  TOKEN_KEYS: `1:${'bench-token-key-'.repeat(3)}`,
  USER_PEPPER: 'bench-pepper-'.repeat(3),
  SECRETS_KEY: Buffer.alloc(32, 9).toString('base64'),
};

/** A real database (fsync on) and a folder, for one run; closed by `close`. */
export async function openStage(): Promise<{ folder: string; databaseUrl: string; pool: pg.Pool; close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'perkwire-bench-'));
  const database = await startEmbeddedPostgres({ dataDir: folder });
  await migrate(database.url);
  const pool = createPool({ url: database.url, size: 2, applicationName: 'perkwire-bench', onError: () => {} });
  return {
    folder,
    databaseUrl: database.url,
    pool,
    close: async () => {
      await pool.end();
      await database.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** The server as it runs in production: built, its own process. */
export async function startPerkwire(
  databaseUrl: string,
  env: Record<string, string> = {},
): Promise<{ port: number; child: ChildProcess; stop: () => Promise<void> }> {
  const port = await freePort();
  const child = spawn(process.execPath, ['dist/server.js'], {
    env: {
      ...process.env,
      NODE_ENV: 'production',
      ...benchSecrets,
      DATABASE_URL: databaseUrl,
      PORT: String(port),
      LOG_LEVEL: 'warn',
      WEBHOOK_ALLOW_NETS: '127.0.0.0/8',
      WEBHOOK_ALLOW_HTTP: 'true',
      ...env,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  await untilReady(`http://127.0.0.1:${port}/health/ready`);
  return { port, child, stop: () => stopChild(child) };
}

export async function startBare(offersFile: string, imageFile: string): Promise<{ port: number; stop: () => Promise<void> }> {
  const port = await freePort();
  const child = spawn(process.execPath, ['--import', 'tsx', 'bench/bare-server.ts', String(port), offersFile, imageFile], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', () => reject(new Error('the bare server did not start')));
  });
  return { port, stop: () => stopChild(child) };
}

function stopChild(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.removeAllListeners('exit');
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}

async function untilReady(url: string): Promise<void> {
  const endMs = performance.now() + 30_000;
  while (performance.now() < endMs) {
    const ok = await fetch(url).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${url} did not become ready`);
}
