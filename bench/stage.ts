import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/embedded/postgres.ts';
import { migrate } from '../src/platform/db/migrate.ts';
import { rollupLagMs } from '../src/reports/rollup/metrics.ts';
import { endChild, freePort } from '../test/support/server-process.ts';

export type Stage = { folder: string; databaseUrl: string; pool: pg.Pool; close: () => Promise<void> };

/**
 * Opens a real database (with fsync) and a folder for one run, until `close` is called. If `keptFolder` is set, that
 * folder is used and kept for later runs. Without migrations, the database stays empty, so that another version of the
 * program can create its tables.
 */
export async function openStage(keptFolder?: string, isMigrated = true): Promise<Stage> {
  const folder = keptFolder ?? (await mkdtemp(join(tmpdir(), 'perkwire-bench-')));
  await chmod(folder, 0o755); // as root, the database runs as another user, who needs access
  const database = await startEmbeddedPostgres({ dataDir: folder });
  if (isMigrated) await migrate(database.url);
  // Use a plain pool instead of the product's pool, because seeding takes minutes.
  const pool = new pg.Pool({ connectionString: database.url, max: 2, application_name: 'perkwire-bench' });
  pool.on('error', () => {});
  return {
    folder,
    databaseUrl: database.url,
    pool,
    close: async () => {
      await pool.end();
      await database.stop();
      if (keptFolder === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Seeds a database and measures it. The commands `seed` and `ask` run only one of the two steps, on a database that is
 * kept in the folder.
 */
export async function seedAndAsk({
  command,
  folder,
  seed,
  ask,
}: {
  command: string | undefined;
  folder: string | undefined;
  seed: (stage: Stage) => Promise<void>;
  ask: (stage: Stage) => Promise<void>;
}): Promise<void> {
  if (folder !== undefined) await mkdir(folder, { recursive: true });
  const stage = await openStage(folder);
  try {
    if (command !== 'ask') await seed(stage);
    if (command !== 'seed') await ask(stage);
  } finally {
    await stage.close();
  }
}

export async function startBare(
  offersFile: string,
  imageFile: string,
  moreOffersFile = offersFile,
): Promise<{ port: number; pid: number; stop: () => Promise<unknown> }> {
  const port = await freePort();
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', 'bench/bare-server.ts', String(port), offersFile, imageFile, moreOffersFile],
    {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  );
  await new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', () => reject(new Error('the bare server did not start')));
  });
  return { port, pid: child.pid as number, stop: () => endChild(child, 'SIGTERM') };
}

/** Waits until the prepared rows are rolled up, so that their rollup is not measured. */
export async function untilRolledUp(pool: pg.Pool): Promise<void> {
  await pool.query('vacuum analyze sessions, events');
  while ((await rollupLagMs(pool, Date.now())) > 0) await sleep(200);
}
