import type pg from 'pg';
import { buildApp } from '../../src/app.ts';
import { type Config, loadConfig } from '../../src/config.ts';
import { embeddedDemoIds } from '../../src/demo/catalogue.ts';
import { createLogger } from '../../src/platform/logger.ts';
import type { App } from '../../src/platform/ports.ts';
import { createDeps, type Deps } from '../../src/runtime/create-deps.ts';
import { createJobs } from '../../src/runtime/jobs.ts';
import { runJobs } from '../../src/runtime/run-jobs.ts';
import { cloneDatabase } from './database.ts';

export type TestApp = {
  app: App;
  deps: Deps;
  pool: pg.Pool;
  databaseUrl: string;
  publisher: { id: number; sdkId: string; key: string };
  close: () => Promise<void>;
};

export type TestAppOptions = {
  /** Another test app's database, for two processes on one; default: a fresh clone. */
  databaseUrl?: string;
  config?: Partial<Config>;
  now?: () => number;
  /** Long by default: a starved machine is not a dead database. */
  queryTimeoutMs?: number;
};

export const testConfig = (overrides: Partial<Config> = {}): Config => ({
  ...loadConfig(
    {
      DATABASE_URL: 'postgres://given.elsewhere/x',
      TOKEN_KEYS: `1:${'test-token-key-'.repeat(3)}`,
      USER_PEPPER: 'test-pepper-'.repeat(3),
      SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
      PUBLIC_URL: 'http://perks.test',
      WEBHOOK_ALLOW_NETS: '127.0.0.0/8',
      WEBHOOK_ALLOW_HTTP: 'true',
      DATABASE_POOL_SIZE: '6',
      LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
      IMAGE_CACHE_DISK_MB: '0',
    },
    () => {
      throw new Error('not embedded');
    },
  ),
  ...overrides,
});

/** Jobs that fetch-offers needs to see changes; tests start the others themselves. */
const offerJobNames = ['campaign usage', 'slices of totals', 'ranking model', 'reservation release'];

/** The real application on a real database with the demo catalogue; only the network listener is left out. */
export async function createTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const clone = options.databaseUrl === undefined ? await cloneDatabase() : null;
  const databaseUrl = options.databaseUrl ?? (clone as { url: string }).url;
  const config = testConfig(options.config);
  const { now = Date.now, queryTimeoutMs = 120_000 } = options;
  const { deps, close } = await createDeps({
    config,
    databaseUrl,
    logger: createLogger(config.logLevel),
    now,
    queryTimeoutMs,
  });
  const app = await buildApp(deps, { serveApi: true, demoReceiver: false });
  await app.ready();
  const offerJobs = createJobs({ ...deps, pid: 0 }).filter(({ name }) => offerJobNames.includes(name));
  const background = await runJobs(offerJobs, deps);
  const [publisher] = [...deps.catalog.current().publishers.values()];
  return {
    app,
    deps,
    pool: deps.pool,
    databaseUrl,
    publisher: { id: publisher?.id ?? 0, ...embeddedDemoIds },
    close: async () => {
      await app.close();
      await background.stop();
      await close();
      await clone?.drop();
    },
  };
}

/** Two applications on one database, as two processes are, by one clock. */
export async function createTwins(
  now: () => number = Date.now,
): Promise<{ first: TestApp; second: TestApp; close: () => Promise<void> }> {
  const first = await createTestApp({ now });
  const second = await createTestApp({ now, databaseUrl: first.databaseUrl });
  return {
    first,
    second,
    close: async () => {
      await second.close();
      await first.close();
    },
  };
}
