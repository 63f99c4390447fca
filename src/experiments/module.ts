import type { Catalog } from '../catalog/module.ts';
import type { CatalogAdmin } from '../catalog-admin/module.ts';
import type { ManagementHttp } from '../management/http.ts';
import type { ManagementClient } from '../management/page-client.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import type { App } from '../platform/http/app.ts';
import type { Job } from '../platform/jobs.ts';
import { dayMs } from '../platform/lib/time.ts';
import type { Platform } from '../platform/module.ts';
import { createUserKeys, pepperMark } from '../platform/security/user-key.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import { collectSums } from './collect.ts';
import { experimentCommands } from './commands.ts';
import { experimentRoutes } from './configuration/routes.ts';
import { createOutcomeWriter } from './outcome-store.ts';
import { outcomeRoutes } from './outcomes/routes.ts';
import { experimentPages } from './pages/pages.ts';
import { deleteSumsOfUsers, recordPoints } from './report/over-time.ts';
import { eraseSumsOfSessions, eraseSumsOfUser, exportOutcomes, exportSums } from './sums/user-data.ts';

/** Interval at which the results of experiments are recorded, in milliseconds. */
const pointsEveryMs = 600_000;

export type Experiments = ReturnType<typeof createExperiments>;

type ExperimentsDeps = { platform: Platform; catalog: Catalog; catalogAdmin: CatalogAdmin };

/**
 * Creates the experiments module, which shows different variants to different users of a publisher and measures their
 * effect.
 */
export function createExperiments({ platform }: ExperimentsDeps) {
  const { pool, dbHealth, config, now } = platform.deps;
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  const userKeyMark = pepperMark(config.userPepper);
  const jobs: readonly Job[] = [
    {
      name: 'experiment sums',
      roles: ['worker'],
      pauseMs: 2000,
      locks: 'an advisory lock: one process adds; rows of experiment_units and experiment_outcomes',
      run: async () => ((await collectSums(pool)) === false ? 0 : 2000),
    },
    {
      name: 'experiment points',
      roles: ['worker'],
      pauseMs: pointsEveryMs,
      locks: 'rows of experiment_points, each by itself: of two that write one, the later stays',
      run: async () => {
        await recordPoints(pool, now());
        return pointsEveryMs;
      },
    },
  ];
  return {
    name: 'experiments',
    rank: 110,
    retention,
    userData: {
      eraseWithSessions: eraseSumsOfSessions,
      eraseOfUser: [eraseSumsOfUser],
      exports: { experiments: exportSums, outcomes: exportOutcomes },
    },
    routes: async (app: App, { http }: { http: ManagementHttp }) => {
      await app.register(experimentRoutes, { ...http, userKeyMark });
      const outcomes = createOutcomeWriter(pool, dbHealth);
      await app.register(outcomeRoutes, { http, outcomes, userKeys, isUp: dbHealth.isUp, now });
    },
    commands: experimentCommands,
    navigation,
    pages: (app: App, shell: Shell, { management }: { management: ManagementClient }) =>
      experimentPages(app, shell, { management, userKeyMark }),
    jobs: () => jobs,
  };
}

const navigation: readonly NavEntry[] = [
  {
    group: 'measure',
    rank: 20,
    key: 'experiments',
    text: 'experiments.title',
    words: 'navWords.experiments',
    path: '/experiments',
    icon: 'experiments',
    role: 'analyst',
    adds: { noun: 'nouns.experiment', role: 'admin' },
  },
];

/**
 * Deletes old data. Outcomes are retained as long as sessions. Per-user totals are retained for the same time after
 * their experiment ends.
 */
const retention: RetentionStep = async (pool, { retentionRawDays }, nowMs) => {
  const before = new Date(nowMs - retentionRawDays * dayMs);
  const outcomes = await pool.query('delete from own_outcomes where at < $1', [before]);
  return { outcomes: outcomes.rowCount ?? 0, experimentUsers: await deleteSumsOfUsers(pool, before) };
};
