import { createAccounts } from './accounts/module.ts';
import { createAdvertisers } from './advertisers/module.ts';
import { createAgents } from './agents/module.ts';
import { createAlerts } from './alerts/module.ts';
import { createAudiences } from './audiences/module.ts';
import { createBrowser } from './browser/module.ts';
import { createBudgets } from './budgets/module.ts';
import { createCatalog } from './catalog/module.ts';
import { createCatalogAdmin } from './catalog-admin/module.ts';
import { createCoupons } from './coupons/module.ts';
import { createDashboard } from './dashboard/module.ts';
import { createDataFiles } from './data-files/module.ts';
import { buildIndex } from './decision/build-index.ts';
import { embeddedDemoIds, syntheticMark } from './demo/catalogue.ts';
import { createDemo } from './demo/module.ts';
import { createDrafts } from './drafts/module.ts';
import { createEventLog } from './event-log/module.ts';
import { createExperiments } from './experiments/module.ts';
import { createForecasts } from './forecasts/module.ts';
import { createLandingPages } from './landing-pages/module.ts';
import { createLearning } from './learning/module.ts';
import { createMessages } from './messages/module.ts';
import { createOffers } from './offers/module.ts';
import { createPerks } from './perks/module.ts';
import { createPlatform, type PlatformOptions } from './platform/module.ts';
import { createPortal } from './portal/module.ts';
import { createPrivacy } from './privacy/module.ts';
import { createReference } from './reference/module.ts';
import { createReports } from './reports/module.ts';
import { assemble } from './runtime/assemble.ts';
import type { Contributions, Module } from './runtime/module.ts';
import { createSources } from './sources/module.ts';
import { createTracking } from './tracking/module.ts';
import { createWebhooks } from './webhooks/module.ts';

export type Modules = Awaited<ReturnType<typeof createModules>>;

type ModuleOptions = PlatformOptions & {
  /** Whether to include the demo shop and its webhook receiver. */
  demo: boolean;
  /** ID of this process, shown on the operator's page. */
  pid: number;
};

/**
 * Creates all modules. Each module gets the earlier modules that it uses, and imports from no others
 * (docs/architecture.md#modules). A single line here is enough to add a module with all of its routes, pages, jobs and
 * documentation. `close` stops the modules in reverse order.
 */
export async function createModules({ demo, pid, ...options }: ModuleOptions) {
  const modules: Module[] = [];
  const add = <Made extends Module>(module: Made): Made => {
    modules.push(module);
    return module;
  };
  const platform = add(await createPlatform(options));
  const catalog = add(await createCatalog({ platform, buildIndex }));
  const catalogAdmin = add(createCatalogAdmin({ platform, catalog }));
  const accounts = add(createAccounts({ platform, catalog, catalogAdmin }));
  const audiences = add(createAudiences({ platform, catalog }));
  // Without an event log, events are stored in the database before they are acknowledged, so the current time is
  // correct. An event log replaces this value.
  let eventsStoredUntil = options.now;
  ({ eventsStoredUntil } = add(await createEventLog({ platform, catalog })));
  const learning = add(createLearning({ platform, catalog }));
  const budgets = add(createBudgets({ platform, catalog, learning, eventsStoredUntil }));
  const webhooks = add(createWebhooks({ platform, catalog, accounts }));
  const drafts = add(createDrafts({ platform, catalog, catalogAdmin, webhooks }));
  const reports = add(createReports({ platform, catalog, accounts }));
  const experiments = add(createExperiments({ platform, catalog, catalogAdmin }));
  add(createSources({ platform, catalog, audiences, experiments }));
  const coupons = add(createCoupons({ platform, catalog }));
  const browser = add(createBrowser({ platform }));
  const offers = add(
    createOffers({
      platform,
      catalog,
      accounts,
      learning,
      audiences,
      budgets,
      reports,
      experiments,
      coupons,
      browser,
    }),
  );
  const tracking = add(
    createTracking({ platform, catalog, learning, budgets, webhooks, reports, coupons, offers, eventsStoredUntil }),
  );
  add(createForecasts({ platform, catalog, catalogAdmin, learning, budgets, reports, offers }));
  add(createLandingPages({ platform, catalog, catalogAdmin, webhooks }));
  const alerts = add(
    createAlerts({
      platform,
      catalog,
      accounts,
      learning,
      budgets,
      webhooks,
      reports,
      coupons,
      offers,
    }),
  );
  add(createPrivacy({ platform, catalog, accounts, audiences }));
  const perks = add(
    createPerks({ platform, catalog, accounts, webhooks, reports, experiments, coupons, offers, tracking }),
  );
  add(createMessages({ platform, catalog, accounts, webhooks, coupons, alerts, perks }));
  add(createAdvertisers({ platform, catalog, catalogAdmin, accounts, drafts, reports, tracking }));
  add(createPortal({ platform, catalog, accounts, webhooks, offers }));
  add(createDataFiles({ platform, catalog, alerts }));
  add(createReference({ platform, catalog, webhooks }));
  add(createAgents({ platform, accounts }));
  if (demo)
    add(
      createDemo({
        platform,
        catalog,
        catalogAdmin,
        accounts,
        budgets,
        webhooks,
        reports,
        experiments,
        coupons,
        offers,
        tracking,
        perks,
      }),
    );
  add(
    createDashboard({
      platform,
      catalog,
      catalogAdmin,
      accounts,
      learning,
      webhooks,
      reports,
      coupons,
      offers,
      alerts,
      tracking,
      demo: { sdkId: embeddedDemoIds.sdkId, mark: syntheticMark },
      pid,
    }),
  );
  const { management, cursors } = catalog;
  const { secretBox } = platform.deps;
  const assembled = { auth: accounts.auth, management, cursors, secretBox, now: options.now };
  return {
    platform,
    catalog,
    accounts,
    learning,
    budgets,
    webhooks,
    offers,
    tracking,
    contributions: assemble(modules, assembled),
    /** Returns the combined contributions of these modules and of additional ones. */
    contributionsWith: (...more: readonly Module[]): Contributions => assemble([...modules, ...more], assembled),
    close: async (): Promise<void> => {
      for (const module of modules.toReversed()) await module.close?.();
    },
  };
}
