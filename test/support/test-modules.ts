import './ask-early.ts';
import type pg from 'pg';
import type { Accounts } from '../../src/accounts/module.ts';
import { buildApp } from '../../src/app.ts';
import type { Budgets } from '../../src/budgets/module.ts';
import type { Catalog } from '../../src/catalog/module.ts';
import type { Config } from '../../src/config.ts';
import { embeddedDemoIds } from '../../src/demo/catalogue.ts';
import type { Learning } from '../../src/learning/module.ts';
import type { Offers } from '../../src/offers/module.ts';
import type { App } from '../../src/platform/http/app.ts';
import { createLogger, type Logger } from '../../src/platform/logger.ts';
import type { Platform } from '../../src/platform/module.ts';
import { assemble } from '../../src/runtime/assemble.ts';
import { createJobMeter, type JobMeter } from '../../src/runtime/job-meter.ts';
import type { Contributions, Module } from '../../src/runtime/module.ts';
import type { Tracking } from '../../src/tracking/module.ts';
import type { Webhooks } from '../../src/webhooks/module.ts';
import { cloneDatabase } from './database.ts';
import { creators, withArguments } from './module-list.ts';
import { testConfig } from './test-config.ts';

type ModulesByName = {
  platform: Platform;
  catalog: Catalog;
  accounts: Accounts;
  learning: Learning;
  budgets: Budgets;
  webhooks: Webhooks;
  offers: Offers;
  tracking: Tracking;
};

/** Platform and catalogue services that all modules use. */
type BaseDeps = Platform['deps'] & {
  catalog: Catalog['store'];
  management: Catalog['management'];
  auth: Accounts['auth'];
  jobMeter: JobMeter;
};

/** Module functions that tests call. */
export type Services = {
  learning: Pick<Learning, 'model'>;
  budgets: { budgets: Budgets };
  webhooks: Pick<Webhooks, 'sender' | 'transformer' | 'activity' | 'dispatcherMetrics'>;
  offers: Pick<Offers, 'requestLog' | 'outcomes'>;
  tracking: Pick<Tracking, 'eventMeter'>;
};

type Intersection<Union> = (Union extends unknown ? (part: Union) => void : never) extends (part: infer All) => void
  ? All
  : never;

/** A test application. */
export type TestBase = {
  app: App;
  deps: BaseDeps;
  contributions: Contributions;
  pool: pg.Pool;
  databaseUrl: string;
  /** Publisher of the demo catalogue. */
  publisher: { id: number; sdkId: string; key: string };
  close: () => Promise<void>;
};

/** A test application with the named modules. */
export type TestModules<Names extends string> = TestBase & {
  deps: Intersection<Services[Names & keyof Services]>;
  modules: Pick<ModulesByName, Names & keyof ModulesByName>;
};

export type TestModulesOptions = {
  /** Database URL of another test application, to simulate two processes on one database. Default: a fresh clone. */
  databaseUrl?: string;
  config?: Partial<Config>;
  now?: () => number;
  logger?: Logger;
  /** Additional modules, which come after all others. */
  modules?: readonly Module[];
};

/**
 * Creates modules and their dependencies (src/modules.ts) on a real database with the demo catalogue. Only their files
 * are loaded, so that a test starts quickly. `app` has their routes. No jobs run. Dashboard pages need `createTestApp`.
 */
export async function createTestModules<Names extends string>(
  names: readonly Names[],
  options: TestModulesOptions = {},
): Promise<TestModules<Names>> {
  const { now = Date.now } = options;
  const config = testConfig(options.config);
  const { logger = createLogger(config.logLevel) } = options;
  const clone = options.databaseUrl === undefined ? cloneDatabase() : null;
  clone?.catch(() => {});
  const { buildIndex } = await import('../../src/decision/build-index.ts');
  const list = await Promise.all(withArguments(['platform', 'catalog', ...names]).map(loadCreator));
  const databaseUrl = options.databaseUrl ?? ((await clone) as { url: string }).url;

  const modules: Module[] = [];
  const services: Record<string, unknown> = { buildIndex, eventsStoredUntil: now };
  for (const { name, create } of list) {
    const module =
      name === 'platform'
        ? await create({ config, databaseUrl, logger, now, queryTimeoutMs: 120_000 })
        : await create(services);
    services[camel(name)] = module;
    if (name === 'event-log') services.eventsStoredUntil = module.eventsStoredUntil;
    modules.push(module);
  }

  const byName = services as Pick<ModulesByName, 'platform' | 'catalog'> & Partial<ModulesByName>;
  const { catalog } = byName;
  const auth = byName.accounts?.auth ?? (await createAuth(catalog, now));
  const parts = [...modules, ...(options.modules ?? [])];
  if (!modules.some(({ name }) => name === 'offers')) parts.push(withoutSessions);
  const { management, cursors } = catalog;
  const { secretBox } = byName.platform.deps;
  const contributions = assemble(parts, { auth, management, cursors, secretBox, now });
  const deps = depsOf(byName, auth) as unknown as TestModules<Names>['deps'];
  const app = await buildApp({ contributions, deps, serveApi: true });
  await app.ready();
  return {
    app,
    deps,
    modules: byName as ModulesByName,
    contributions,
    pool: deps.pool,
    databaseUrl,
    publisher: demoPublisher(catalog),
    close: async () => {
      await app.close();
      for (const module of modules.toReversed()) await module.close?.();
      await (await clone)?.drop();
    },
  };
}

/** Returns the module services that tests call, as one object. */
export function depsOf(
  {
    platform,
    catalog,
    learning,
    budgets,
    webhooks,
    offers,
    tracking,
  }: Pick<ModulesByName, 'platform' | 'catalog'> & Partial<ModulesByName>,
  auth: Accounts['auth'],
) {
  return {
    ...platform.deps,
    catalog: catalog.store,
    management: catalog.management,
    auth,
    jobMeter: createJobMeter(platform.deps.metrics.registry),
    model: learning?.model,
    budgets,
    sender: webhooks?.sender,
    transformer: webhooks?.transformer,
    activity: webhooks?.activity,
    dispatcherMetrics: webhooks?.dispatcherMetrics,
    requestLog: offers?.requestLog,
    outcomes: offers?.outcomes,
    eventMeter: tracking?.eventMeter,
  };
}

/** Returns the first publisher of the demo catalogue, with its key. */
export function demoPublisher({ store }: Catalog): TestBase['publisher'] {
  const [publisher] = store.current().publishers.values();
  return { id: publisher?.id ?? 0, ...embeddedDemoIds };
}

type Created = Module & { eventsStoredUntil?: () => number };

async function loadCreator(name: string): Promise<{ name: string; create: (services: unknown) => Created }> {
  const file = await import(`../../src/${name}/module.ts`);
  return { name, create: file[creators.get(name) as string] };
}

const camel = (name: string): string => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Checks keys like the module `accounts`, but does not record their use and does not load the module's pages. */
async function createAuth({ store }: Catalog, now: () => number): Promise<Accounts['auth']> {
  const { createKeyAuthenticator } = await import('../../src/accounts/caller.ts');
  return createKeyAuthenticator(store, now, { note: () => {} });
}

/** Stands in for the module `offers`, which owns sessions. Without it, there are no sessions to erase or export. */
const withoutSessions: Module = {
  name: 'no sessions',
  rank: 0,
  userData: {
    findSessions: () => ({ text: 'select null::uuid as id limit 0', values: [] }),
    eraseSessions: async () => ({}),
  },
};
