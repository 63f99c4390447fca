import type { Catalog } from '../catalog/module.ts';
import { createAlone } from '../management/alone.ts';
import type { ManagementHttp } from '../management/http.ts';
import type { ManagementClient } from '../management/page-client.ts';
import { openManagementScope, resourceRoutes } from '../management/resource-routes.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import type { App } from '../platform/http/app.ts';
import type { Job } from '../platform/jobs.ts';
import type { Platform } from '../platform/module.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import { attributeRoutes } from './attributes/routes.ts';
import { deleteEndedAttributes } from './attributes/store.ts';
import { audiences } from './audiences.ts';
import { audienceCommands } from './commands.ts';
import { deleteOldImports } from './import/imports.ts';
import { importRoutes } from './import/routes.ts';
import { insightRoutes } from './members/insight-routes.ts';
import { deleteEndedMembers, deleteOrphanedMembers, noteGrowth } from './members/members.ts';
import { memberRoutes } from './members/routes.ts';
import { trafficRoutes } from './members/traffic.ts';
import { audiencePages } from './pages/audiences.ts';
import { estimateRule } from './rules/estimate.ts';
import { deleteOldFacts, followRules } from './rules/follow.ts';
import type { Rule } from './rules/rule.ts';
import { eraseProfileOfUser, eraseProfilesOfSessions, exportAttributes, exportMemberships } from './user-data.ts';

export type Audiences = ReturnType<typeof createAudiences>;

type AudiencesDeps = { platform: Platform; catalog: Catalog };

/** Creates the audiences module: attributes and audiences that publishers store for their users. */
export function createAudiences({ platform }: AudiencesDeps) {
  const { config, pool, now } = platform.deps;
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  const importDeps = { userKeys, pool, url: platform.databaseUrl, now, alone: createAlone('importJob') };
  const alone = createAlone('audienceEstimate');
  const estimate = (publisherId: number, rule: Rule) =>
    alone(publisherId, () => estimateRule(pool, publisherId, rule, now()));
  return {
    name: 'audiences',
    rank: 40,
    commands: audienceCommands,
    navigation: [entry],
    retention,
    userData: {
      eraseBeforeSessions: eraseProfilesOfSessions,
      eraseOfUser: [eraseProfileOfUser],
      exports: { attributes: exportAttributes, audiences: exportMemberships },
    },
    routes: async (app: App, { http }: { http: ManagementHttp }) => {
      await app.register(attributeRoutes, { http, userKeys });
      await app.register(audienceRoutes(http, ['list', 'create', 'get', 'update']));
      await app.register(memberRoutes, { http, userKeys });
      await app.register(trafficRoutes, { http, userKeys });
      await app.register(insightRoutes, { http, userKeys, estimate });
      await app.register(importRoutes, { http, ...importDeps });
      await app.register(audienceRoutes(http, ['remove']));
    },
    pages: (app: App, shell: Shell, { management }: { management: ManagementClient }) =>
      audiencePages(app, { ...shell, importDeps, estimate, management }),
    jobs: () => jobsOf({ pool, url: platform.databaseUrl, now }),
  };
}

const audienceRoutes = (http: ManagementHttp, operations: Parameters<typeof resourceRoutes>[3]) => async (app: App) => {
  openManagementScope(app);
  resourceRoutes(app, http, audiences, operations);
};

const entry: NavEntry = {
  group: 'audience',
  rank: 10,
  key: 'audiences',
  text: 'audiences.title',
  words: 'navWords.audiences',
  path: '/audiences',
  icon: 'users',
  role: 'analyst',
  adds: { noun: 'nouns.audience', role: 'admin' },
};

const jobsOf = (deps: Parameters<typeof followRules>[0]): readonly Job[] => [
  {
    name: 'audience rules',
    roles: ['worker'],
    pauseMs: 2000,
    pausePerRun: 3,
    locks: 'the row of the audience (skip locked), then its members in the order of their keys',
    run: (isStopped) => followRules(deps, isStopped),
  },
  {
    name: 'audiences',
    roles: ['worker'],
    pauseMs: 10_000,
    locks: 'rows of audience_members that have ended (skip locked), then rows of audience_sizes',
    run: async (isStopped) => {
      const { pool, now } = deps;
      while ((await deleteEndedMembers(pool, now())) && !isStopped());
      while ((await deleteOrphanedMembers(pool)) && !isStopped());
      await noteGrowth(pool, now());
    },
  },
];

const retention: RetentionStep = async (pool, _days, nowMs) => ({
  user_attributes: await deleteEndedAttributes(pool, nowMs),
  audience_imports: await deleteOldImports(pool, nowMs),
  audience_facts: await deleteOldFacts(pool, nowMs),
});
