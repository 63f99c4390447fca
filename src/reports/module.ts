import type { Accounts } from '../accounts/module.ts';
import type { Catalog } from '../catalog/module.ts';
import { type PageExtensions, publisherPages } from '../catalog/pages.ts';
import type { ManagementHttp } from '../management/http.ts';
import type { PermissionEntry } from '../management/unit-of-work.ts';
import type { App } from '../platform/http/app.ts';
import { hourly, type Job } from '../platform/jobs.ts';
import type { Platform } from '../platform/module.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import type { ChatChannels } from './chat-channels.ts';
import { reportCommands } from './commands.ts';
import { explorerPages } from './pages/explorer/explorer.ts';
import { funnelCard } from './pages/explorer/funnel.ts';
import { readState } from './pages/explorer/state.ts';
import { weekFigures } from './pages/week.ts';
import type { CountPerkStages } from './perk-stages.ts';
import { reportRoutes } from './query/routes.ts';
import { compactReach } from './reach/compact.ts';
import { reachRoutes } from './reach/routes.ts';
import { compactRollups } from './rollup/compact.ts';
import { applyReportRetention, createRollupJob } from './rollup/job.ts';
import { registerRollupMetrics } from './rollup/metrics.ts';
import { rowsRoutes } from './rows/routes.ts';
import { savedReportRoutes } from './saved/routes.ts';
import { schedulePages } from './schedules/pages.ts';
import { sendDueReports } from './schedules/send.ts';
import { createReportService } from './service.ts';

export type Reports = ReturnType<typeof createReports>;

type ReportContributions = { perkStages: CountPerkStages | null; chatChannels: ChatChannels | null };

type ReportsDeps = { platform: Platform; catalog: Catalog; accounts: Accounts };

/** Creates the reports module: rollups and queries over them. */
export function createReports({ platform, catalog, accounts }: ReportsDeps) {
  const { config, pool, replica, dbHealth, mailer, metrics, logger, now } = platform.deps;
  registerRollupMetrics(metrics.registry, pool, now);
  const deps = { config, pool, replica, dbHealth, mailer, catalog: catalog.store, auth: accounts.auth, now };
  const reports = createReportService(deps);
  const extensions: Partial<PageExtensions> = {
    figures: (by) => weekFigures(deps, by),
    placementCard: (context, name) => funnelCard(context, readState({ placement: name })),
  };
  const jobsOf = (chatChannels: ChatChannels | null): readonly Job[] => [
    {
      name: 'rollup',
      roles: ['worker'],
      pauseMs: 1000,
      locks: 'an advisory lock: one process at a time',
      run: createRollupJob({ pool, logger, now }),
    },
    {
      name: 'rollup compaction',
      ...hourly,
      locks: 'a row of rollup_publishers (skip locked)',
      run: async (isStopped) => void (await compactRollups(pool, now(), isStopped)),
    },
    {
      name: 'reach sketches',
      roles: ['worker'],
      pauseMs: 60_000,
      locks: 'an advisory lock: one process at a time',
      run: (isStopped) => compactReach(pool, isStopped),
    },
    {
      name: 'scheduled reports',
      roles: ['worker'],
      pauseMs: 10_000,
      locks: 'a lease on the row of report_schedules (skip locked)',
      run: async () => void (await sendDueReports({ ...deps, reports, chatChannels })),
    },
  ];
  return {
    name: 'reports',
    rank: 100,
    service: reports,
    commands: reportCommands,
    permissions,
    navigation,
    extensions,
    retention: applyReportRetention,
    publicRoutes: async (open: App) => void (await open.register(reportRoutes, deps)),
    routes: async (app: App, { http }: { http: ManagementHttp }) => {
      await app.register(savedReportRoutes, { ...deps, reports, http });
      await app.register(rowsRoutes, { ...deps, reports });
      await app.register(reachRoutes, { ...deps, reports });
    },
    pages: (app: App, shell: Shell, { perkStages, chatChannels }: ReportContributions) => {
      explorerPages(app, { ...shell, deps, countPerkStages: perkStages });
      schedulePages(publisherPages(app, shell), { deps, chatChannels });
    },
    jobs: ({ chatChannels }: ReportContributions) => jobsOf(chatChannels),
  };
}

const permissions: readonly PermissionEntry[] = [
  { name: 'reports', role: 'analyst', text: 'settings.permissionReports' },
];

const navigation: readonly NavEntry[] = [
  {
    group: 'measure',
    rank: 10,
    key: 'reports',
    text: 'nav.reports',
    words: 'navWords.reports',
    path: '/reports',
    icon: 'reports',
    role: 'analyst',
  },
];
