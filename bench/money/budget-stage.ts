import pg from 'pg';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { createModules, type Modules } from '../../src/modules.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import type { App } from '../../src/platform/http/app.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { createJobMeter } from '../../src/runtime/job-meter.ts';
import type { Contributions } from '../../src/runtime/module.ts';
import { jobsOf } from '../../src/runtime/run-jobs.ts';

/** Processes of the real application that share one real database and a simulated clock. Jobs run only on request. */
export type BudgetStage = {
  pool: pg.Pool;
  apps: readonly App[];
  /** Runs the named jobs of every process once. */
  run: (...names: string[]) => Promise<void>;
  refreshCatalog: () => Promise<void>;
  raiseEvents: () => Promise<void>;
  close: () => Promise<void>;
};

/** @param serverUrl URL of an existing database; the new database is created on the same server */
export async function openBudgetStage(
  serverUrl: string,
  { name, processes, now }: { name: string; processes: number; now: () => number },
): Promise<BudgetStage> {
  const url = new URL(serverUrl);
  const admin = new pg.Client({ connectionString: serverUrl });
  await admin.connect();
  await admin.query(`create database ${name}`);
  // Durability is not part of the simulation.
  await admin.query(`alter database ${name} set synchronous_commit = off`);
  await admin.end();
  url.pathname = `/${name}`;
  await migrate(url.href);
  const pool = new pg.Pool({ connectionString: url.href, max: 2 });
  const config = loadConfig(
    {
      DATABASE_URL: url.href,
      TOKEN_KEYS: `1:${'bench-token-key-'.repeat(3)}`,
      USER_PEPPER: 'bench-pepper-'.repeat(3),
      SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
      PUBLIC_URL: 'http://perks.test',
      LOG_LEVEL: 'silent',
      IMAGE_CACHE_DISK_MB: '0',
    },
    () => {
      throw new Error('not embedded');
    },
  );
  const opened: { modules: Modules; deps: ReturnType<typeof depsOf>; contributions: Contributions; app: App }[] = [];
  for (let at = 0; at < processes; at++) {
    const logger = createLogger(config.logLevel);
    const options = { config, databaseUrl: url.href, logger, now, queryTimeoutMs: 60_000 };
    const modules = await createModules({ ...options, demo: false, pid: at + 1 });
    const contributions = modules.contributionsWith();
    const deps = depsOf(modules);
    const app = await buildApp({ contributions, deps, serveApi: true });
    await app.ready();
    opened.push({ modules, deps, contributions, app });
  }
  const jobs = opened.map(
    ({ deps, contributions }) => new Map(jobsOf(contributions, deps).map((job) => [job.name, job])),
  );
  const run = async (...names: string[]): Promise<void> => {
    for (const jobName of names)
      for (const ofProcess of jobs) {
        const job = ofProcess.get(jobName);
        if (job === undefined || 'start' in job) throw new Error(`unknown job ${jobName}`);
        await job.run(() => false);
      }
  };
  return {
    pool,
    apps: opened.map(({ app }) => app),
    run,
    refreshCatalog: async () => {
      for (const { modules } of opened) await modules.catalog.store.refresh();
    },
    raiseEvents: () => run('campaign events'),
    close: async () => {
      for (const { app, modules } of opened) {
        await app.close();
        await modules.close();
      }
      await pool.end();
    },
  };
}

function depsOf({ platform }: Modules) {
  return { ...platform.deps, jobMeter: createJobMeter(platform.deps.metrics.registry) };
}
