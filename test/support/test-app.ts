import './ask-early.ts';
import type pg from 'pg';
import { buildApp } from '../../src/app.ts';
import { type Config, loadConfig } from '../../src/config.ts';
import { embeddedDemoIds } from '../../src/demo/catalogue.ts';
import { createModules, type Modules } from '../../src/modules.ts';
import type { App } from '../../src/platform/http/app.ts';
import { createLogger, type Logger } from '../../src/platform/logger.ts';
import { createJobMeter } from '../../src/runtime/job-meter.ts';
import type { Contributions, Module } from '../../src/runtime/module.ts';
import { jobsOf, runJobs } from '../../src/runtime/run-jobs.ts';
import { cloneDatabase } from './database.ts';
import { resource } from './resources.ts';

/** Services of the modules that tests call, all in one. */
type Deps = ReturnType<typeof depsOf>;

export type TestApp = {
  app: App;
  deps: Deps;
  contributions: Contributions;
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
  logger?: Logger;
  /** Further modules, after all others. */
  modules?: readonly Module[];
  /** With the shop and the receiver of the demo. */
  demo?: boolean;
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
  const scripts = resource('sdk');
  const clone = options.databaseUrl === undefined ? await cloneDatabase() : null;
  await scripts;
  const databaseUrl = options.databaseUrl ?? (clone as { url: string }).url;
  const config = testConfig(options.config);
  const { now = Date.now, queryTimeoutMs = 120_000, demo = false } = options;
  const { logger = createLogger(config.logLevel) } = options;
  const modules = await createModules({ config, databaseUrl, logger, now, queryTimeoutMs, demo, pid: 4242 });
  const { close } = modules;
  const contributions = modules.contributionsWith(...(options.modules ?? []));
  const deps = depsOf(modules);
  const app = await buildApp({ contributions, deps, serveApi: true });
  await app.ready();
  const offerJobs = jobsOf(contributions, deps).filter(({ name }) => offerJobNames.includes(name));
  const background = await runJobs(offerJobs, deps);
  const [publisher] = [...deps.catalog.current().publishers.values()];
  return {
    app,
    deps,
    contributions,
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

function depsOf({ platform, catalog, accounts, learning, budgets, webhooks, offers, tracking }: Modules) {
  return {
    ...platform.deps,
    catalog: catalog.store,
    management: catalog.management,
    auth: accounts.auth,
    model: learning.model,
    budgets,
    sender: webhooks.sender,
    activity: webhooks.activity,
    dispatcherMetrics: webhooks.dispatcherMetrics,
    notices: offers.notices,
    liveCalls: offers.liveCalls,
    outcomes: offers.outcomes,
    eventMeter: tracking.eventMeter,
    jobMeter: createJobMeter(platform.deps.metrics.registry),
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
