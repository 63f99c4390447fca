import type { Accounts } from '../accounts/module.ts';
import type { Budgets } from '../budgets/module.ts';
import type { Catalog } from '../catalog/module.ts';
import type { Coupons } from '../coupons/module.ts';
import type { Learning } from '../learning/module.ts';
import type { ManagementHttp } from '../management/http.ts';
import type { ManagementClient } from '../management/page-client.ts';
import type { Offers } from '../offers/module.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import type { App } from '../platform/http/app.ts';
import type { Job } from '../platform/jobs.ts';
import { hourMs, minuteMs } from '../platform/lib/time.ts';
import type { Platform } from '../platform/module.ts';
import type { Reports } from '../reports/module.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import type { Webhooks } from '../webhooks/module.ts';
import { sendOperationalEvents } from '../webhooks/send-operational.ts';
import {
  checkBudgets,
  checkCoupons,
  checkKeys,
  checkLasting,
  checkLearning,
  checkMetrics,
  checkPlacements,
  checkTransformations,
} from './checks.ts';
import { alertCommands } from './commands.ts';
import { countNewAlerts, deleteOldAlerts } from './inbox.ts';
import type { AlertCheck } from './kinds.ts';
import { metricAlertPages } from './metrics/pages.ts';
import { metricAlertRoutes } from './metrics/routes.ts';
import { alertPages } from './pages/alerts.ts';
import { recordOperationalEvents } from './record.ts';
import { alertRoutes } from './routes.ts';
import { chatChannelsOf, sendAlertMessages } from './send.ts';

export type Alerts = ReturnType<typeof createAlerts>;

type AlertsDeps = {
  platform: Platform;
  catalog: Catalog;
  accounts: Accounts;
  learning: Learning;
  budgets: Budgets;
  webhooks: Webhooks;
  reports: Reports;
  coupons: Coupons;
  offers: Offers;
};

/** Creates the alerts module: notifications in the inbox, by e-mail and in chat. */
export function createAlerts({ platform, catalog, webhooks }: AlertsDeps) {
  const { config, pool, dbHealth, mailer, secretBox, now } = platform.deps;
  const { sender } = webhooks;
  const deps = { config, pool, dbHealth, mailer, secretBox, sender, catalog: catalog.store, now };
  const entry: NavEntry = {
    group: 'main',
    rank: 30,
    key: 'alerts',
    text: 'nav.alerts',
    words: 'navWords.alerts',
    path: '/alerts',
    icon: 'alerts',
    role: 'analyst',
    // Return 0 while the database is unavailable, so that pages that need no other data still work.
    count: (publisherId, userId) =>
      dbHealth.isUp() ? countNewAlerts(pool, { publisherId, userId }).catch(() => 0) : Promise.resolve(0),
  };
  return {
    name: 'alerts',
    rank: 190,
    commands: alertCommands,
    routes: async (app: App, { http }: { http: ManagementHttp }) => {
      await app.register(alertRoutes, { http, ...deps });
      await app.register(metricAlertRoutes, { http, ...deps });
    },
    navigation: [entry],
    countNewAlerts,
    chatChannels: chatChannelsOf(deps),
    retention,
    pages: (app: App, shell: Shell, { management }: { management: ManagementClient }) => {
      alertPages(app, { ...shell, deps });
      metricAlertPages(app, { ...shell, deps, management });
    },
    jobs: ({ alertChecks }: { alertChecks: readonly AlertCheck[] }) => jobsOf(deps, alertChecks),
  };
}

const retention: RetentionStep = async (pool, _days, nowMs) => ({ alerts: await deleteOldAlerts(pool, nowMs) });

type Checked = Parameters<typeof checkBudgets>[0] &
  Parameters<typeof checkPlacements>[0] &
  Parameters<typeof sendAlertMessages>[0];

const jobsOf = (deps: Checked, checks: readonly AlertCheck[]): readonly Job[] => [
  {
    name: 'budget alerts',
    roles: ['worker'],
    pauseMs: minuteMs,
    locks: 'rows of alerts, in the order of their key',
    run: () => checkBudgets(deps),
  },
  {
    name: 'coupon alerts',
    roles: ['worker'],
    pauseMs: minuteMs,
    locks: 'an advisory lock: one process at a time; rows of alerts, in the order of their key',
    run: () => checkCoupons(deps),
  },
  ...checks.map(
    (check): Job => ({
      name: check.name,
      roles: ['worker'],
      pauseMs: minuteMs,
      locks: 'an advisory lock: one process at a time; rows of alerts, in the order of their key',
      run: () => checkLasting(deps, check),
    }),
  ),
  {
    name: 'transformation alerts',
    roles: ['worker'],
    pauseMs: minuteMs,
    locks: 'an advisory lock: one process at a time; rows of alerts, in the order of their key',
    run: () => checkTransformations(deps),
  },
  {
    name: 'ranking alerts',
    roles: ['worker'],
    pauseMs: 15_000,
    locks: 'an advisory lock: one process at a time; rows of alerts, in the order of their key',
    run: () => checkLearning(deps),
  },
  {
    name: 'key alerts',
    roles: ['worker'],
    pauseMs: hourMs,
    retryMs: minuteMs,
    locks: 'rows of alerts, in the order of their key',
    run: () => checkKeys(deps),
  },
  {
    name: 'placement alerts',
    roles: ['worker'],
    pauseMs: 10 * minuteMs,
    locks: 'an advisory lock: one process at a time; rows of alerts, in the order of their key',
    run: () => checkPlacements(deps),
  },
  {
    name: 'metric alerts',
    roles: ['worker'],
    pauseMs: 5 * minuteMs,
    locks: 'an advisory lock: one process at a time; rows of alerts, in the order of their key',
    run: () => checkMetrics(deps),
  },
  {
    name: 'alert messages',
    roles: ['worker'],
    pauseMs: 1000,
    locks: 'a lease on the message (skip locked)',
    run: async () => void (await sendAlertMessages(deps)),
  },
  {
    name: 'operational events',
    roles: ['worker'],
    pauseMs: 1000,
    locks:
      'rows of operational_events (skip locked), then webhook_endpoints; rows of alerts, in the order of their key',
    run: async () => void (await sendOperationalEvents(deps.pool, deps.now(), recordOperationalEvents(deps.now()))),
  },
];
