import './ask-early.ts';
import { buildApp } from '../../src/app.ts';
import { createModules, type Modules } from '../../src/modules.ts';
import { createLogger } from '../../src/platform/logger.ts';
import type { Module } from '../../src/runtime/module.ts';
import { jobsOf, runJobs } from '../../src/runtime/run-jobs.ts';
import { cloneDatabase } from './database.ts';
import { resource } from './resources.ts';
import { testConfig } from './test-config.ts';
import { demoPublisher, depsOf, type TestModules, type TestModulesOptions } from './test-modules.ts';

/** The whole application. Tests of a few modules use `createTestModules`, which starts faster. */
export type TestApp = TestModules<keyof Modules>;

export type TestAppOptions = TestModulesOptions & {
  /** Whether to add the demo's shop and receiver. */
  demo?: boolean;
  /** Whether to bundle and serve the browser scripts. Without them, requests for scripts fail. */
  scripts?: boolean;
  /**
   * Query timeout, in milliseconds. It is long by default, because a slow machine must not look like a failed database.
   */
  queryTimeoutMs?: number;
};

/** Jobs that fetch-offers needs in order to see changes. Tests start other jobs themselves. */
const offerJobNames = ['campaign usage', 'slices of totals', 'ranking model', 'reservation release'];

/** Creates the real application on a real database with the demo catalogue, without a network listener. */
export async function createTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const { scripts = false } = options;
  const [clone] = await Promise.all([
    options.databaseUrl === undefined ? cloneDatabase() : null,
    scripts ? resource('sdk') : null,
  ]);
  const databaseUrl = options.databaseUrl ?? (clone as { url: string }).url;
  const config = testConfig(options.config);
  const { now = Date.now, queryTimeoutMs = 120_000, demo = false } = options;
  const { logger = createLogger(config.logLevel) } = options;
  const modules = await createModules({ config, databaseUrl, logger, now, queryTimeoutMs, demo, pid: 4242 });
  const { close } = modules;
  const contributions = modules.contributionsWith(...(options.modules ?? []), ...(scripts ? [] : [withoutScripts]));
  const deps = depsOf(modules, modules.accounts.auth) as TestApp['deps'];
  const app = await buildApp({ contributions, deps, serveApi: true });
  await app.ready();
  const offerJobs = jobsOf(contributions, deps).filter(({ name }) => offerJobNames.includes(name));
  const background = await runJobs(offerJobs, deps);
  return {
    app,
    deps,
    modules,
    contributions,
    pool: deps.pool,
    databaseUrl,
    publisher: demoPublisher(modules.catalog),
    close: async () => {
      await app.close();
      await background.stop();
      await close();
      await clone?.drop();
    },
  };
}

/** Matches the URLs of browser scripts, and of the page that loads one of them. */
const scriptUrls = /^\/((sdk\/)?([\w.]+\.js|unit\.\w+\.json)|offerwall(\/v2\/?)?)(\?|$)/;

/** Module that rejects requests for scripts, which may be missing or older than their sources. */
const withoutScripts: Module = {
  name: 'no scripts',
  rank: 0,
  observe: (open) => {
    open.addHook('onRequest', async ({ url }) => {
      if (scriptUrls.test(url)) throw new Error(`${url} needs createTestApp({ scripts: true })`);
    });
  },
};

/** Creates two applications on one database that share a clock, like two processes. */
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
