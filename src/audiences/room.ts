import type { Accounts } from '../accounts/room.ts';
import type { Catalog } from '../catalog/room.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import type { App } from '../platform/ports.ts';
import type { Platform } from '../platform/room.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import { attributeRoutes } from './attributes/routes.ts';
import { deleteEndedAttributes } from './attributes/store.ts';
import { eraseProfileOfUser, eraseProfilesOfSessions, exportAttributes } from './user-data.ts';

type Needs = { platform: Platform; catalog: Catalog; accounts: Accounts };

/** What publishers tell of their users: attributes. */
export function createAudiences({ platform, catalog, accounts }: Needs) {
  const { config } = platform.deps;
  const userKeys = createUserKeys(config.userPepper, config.earlierPeppers);
  const http = catalog.managementHttp(accounts.auth);
  return {
    name: 'audiences',
    retention,
    userData: {
      eraseWithSessions: eraseProfilesOfSessions,
      eraseOfUser: [eraseProfileOfUser],
      exports: { attributes: exportAttributes },
    },
    routes: async (app: App) => void (await app.register(attributeRoutes, { http, userKeys })),
  };
}

const retention: RetentionStep = async (pool, _days, nowMs) => ({
  user_attributes: await deleteEndedAttributes(pool, nowMs),
});
