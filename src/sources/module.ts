import type { Audiences } from '../audiences/module.ts';
import type { Catalog } from '../catalog/module.ts';
import type { Experiments } from '../experiments/module.ts';
import type { ManagementHttp } from '../management/http.ts';
import type { ManagementClient } from '../management/page-client.ts';
import { readSlices } from '../platform/db/pool.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import type { App } from '../platform/http/app.ts';
import type { Platform } from '../platform/module.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import type { EraseBeforeSessions, EraseOfUser, ExportRows } from '../platform/user-data.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import { sourceCommands } from './commands.ts';
import { deleteOldEvents, eraseEvents } from './events.ts';
import { sourcePages } from './pages/sources.ts';
import { sourceRoutes } from './routes.ts';

type SourcesDeps = { platform: Platform; catalog: Catalog; audiences: Audiences; experiments: Experiments };

/** Creates the sources module, which imports user data from event sources such as Segment and RudderStack. */
export function createSources({ platform }: SourcesDeps) {
  const { config, secretBox } = platform.deps;
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  return {
    name: 'sources',
    rank: 120,
    commands: sourceCommands,
    navigation: [entry],
    retention,
    userData: {
      eraseBeforeSessions: eraseEventsOfSessions,
      eraseOfUser: [eraseEventsOfUser],
      exports: { source_events: exportEvents },
    },
    routes: async (app: App, { http }: { http: ManagementHttp }) => {
      await app.register(sourceRoutes, { http, userKeys });
    },
    pages: (app: App, shell: Shell, { management }: { management: ManagementClient }) =>
      sourcePages(app, { ...shell, management, secretBox }),
  };
}

const entry: NavEntry = {
  group: 'audience',
  rank: 20,
  key: 'sources',
  text: 'sources.title',
  words: 'navWords.sources',
  path: '/settings/sources',
  icon: 'sources',
  role: 'admin',
};

const retention: RetentionStep = async (pool, _days, nowMs) => ({
  source_events: await deleteOldEvents(pool, nowMs),
});

/** Erases the user's events. Only the first sweep does so, because events that arrive after it belong to a new user. */
const eraseEventsOfUser: EraseOfUser = async (pool, { subject, isSecond }) => {
  if (!isSecond) await eraseEvents(pool, subject.userKeys);
};

/** Erases the events of the users in these sessions. */
const eraseEventsOfSessions: EraseBeforeSessions = async (pool, sessions, { isSecond }) => {
  if (!isSecond) await eraseEvents(pool, [...new Set(sessions.flatMap(({ pubUserKeys }) => pubUserKeys))]);
};

/** Exports the user's events. */
const exportEvents: ExportRows = (executor, { pubUserKeys }) =>
  readSlices(
    executor,
    `select message_id, type, name, result, received_at from source_events
    where user_key = any($1::uuid[]) order by received_at`,
    [pubUserKeys],
  );
