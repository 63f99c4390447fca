import type { Accounts } from '../accounts/module.ts';
import type { Alerts } from '../alerts/module.ts';
import type { Catalog } from '../catalog/module.ts';
import type { CatalogAdmin } from '../catalog-admin/module.ts';
import type { Coupons } from '../coupons/module.ts';
import type { Learning } from '../learning/module.ts';
import type { ManagementClient } from '../management/page-client.ts';
import type { Offers } from '../offers/module.ts';
import type { App } from '../platform/http/app.ts';
import { everyRole, type Job } from '../platform/jobs.ts';
import type { Platform } from '../platform/module.ts';
import type { Reports } from '../reports/module.ts';
import type { AssetUrl, Shell } from '../shell/layout.ts';
import type { NavEntry, Navigation } from '../shell/navigation.ts';
import type { Tracking } from '../tracking/module.ts';
import type { Webhooks } from '../webhooks/module.ts';
import { createHeartbeat, heartbeatMs } from './heartbeat.ts';
import { findPages } from './pages/find/find.ts';
import { integrationPages } from './pages/integration/integration.ts';
import { systemPages } from './pages/operator/system.ts';
import { type DemoMark, overviewPages } from './pages/overview.ts';
import { dashboardRoutes } from './routes.ts';
import { createFindStory } from './story/find.ts';
import { storyPages } from './story/page.ts';
import { storyRoutes } from './story/routes.ts';

type Contributions = {
  navigation: Navigation;
  management: ManagementClient;
  modules: readonly {
    openPages?: (app: App, shell: Shell, contributions: never) => Promise<void>;
    pages?: (app: App, shell: Shell, contributions: never) => void;
    framedPages?: (app: App, asset: AssetUrl, contributions: never) => Promise<void>;
  }[];
};

type DashboardDeps = {
  platform: Platform;
  catalog: Catalog;
  catalogAdmin: CatalogAdmin;
  accounts: Accounts;
  learning: Learning;
  webhooks: Webhooks;
  reports: Reports;
  coupons: Coupons;
  offers: Offers;
  alerts: Alerts;
  tracking: Tracking;
  /** Identifies the embedded demo. Absent in programs without the demo. */
  demo?: DemoMark;
  /** Process ID of this process. */
  pid: number;
};

/**
 * Creates the dashboard module. It puts the pages of all modules behind one sign-in, and adds pages that combine data
 * from several modules.
 */
export function createDashboard({ platform, catalog, accounts, reports, alerts, tracking, demo, pid }: DashboardDeps) {
  const { config, pool, replica, dbHealth, secretBox, now } = platform.deps;
  const deps = { config, pool, replica, dbHealth, catalog: catalog.store, secretBox, now };
  const findStory = createFindStory({ ...deps, clickIds: tracking.clickIds });
  const heartbeat = createHeartbeat({ config, pool, catalog: catalog.store, now, pid });
  const beat: Job = {
    name: 'heartbeat',
    roles: everyRole,
    pauseMs: heartbeatMs,
    locks: 'its own row of processes',
    run: heartbeat.beat,
    onStop: heartbeat.remove,
  };
  return {
    name: 'dashboard',
    rank: 250,
    navigation,
    routes: async (app: App, contributions: Contributions) => {
      await app.register(storyRoutes, { ...deps, auth: accounts.auth, findStory });
      await dashboardRoutes(app, {
        deps,
        navigation: contributions.navigation,
        registerOpen: async (open, shell) => {
          for (const { openPages } of contributions.modules) await openPages?.(open, shell, contributions as never);
        },
        registerFramed: async (framed, asset) => {
          for (const { framedPages } of contributions.modules)
            await framedPages?.(framed, asset, contributions as never);
        },
        registerClosed: (closed, shell) => {
          for (const { pages } of contributions.modules) pages?.(closed, shell, contributions as never);
        },
      });
    },
    pages: (app: App, shell: Shell, { management }: { management: ManagementClient }) => {
      const services = { ...shell, deps, management };
      overviewPages(app, { ...services, reports: reports.service, countNewAlerts: alerts.countNewAlerts, demo });
      findPages(app, { ...services, findStory });
      storyPages(app, shell, { ...deps, findStory });
      for (const register of [integrationPages, systemPages]) register(app, services);
    },
    jobs: () => [beat],
  };
}

const navigation: readonly NavEntry[] = [
  {
    group: 'main',
    rank: 10,
    key: 'overview',
    text: 'nav.overview',
    words: 'navWords.overview',
    path: '/overview',
    icon: 'overview',
    role: 'analyst',
  },
  {
    group: 'developers',
    rank: 10,
    key: 'integration',
    text: 'nav.integration',
    words: 'navWords.integration',
    path: '/integration',
    icon: 'integration',
    role: 'analyst',
  },
  {
    group: 'operator',
    rank: 40,
    key: 'system',
    text: 'nav.system',
    words: 'navWords.system',
    path: '/operator/system',
    icon: 'system',
    role: 'operator',
  },
];
