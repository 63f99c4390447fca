import type { Accounts } from '../accounts/room.ts';
import type { Catalog } from '../catalog/room.ts';
import type { App } from '../platform/ports.ts';
import type { Platform } from '../platform/room.ts';
import { experimentRoutes } from './configuration/routes.ts';

type Needs = { platform: Platform; catalog: Catalog; accounts: Accounts };

/** Experiments: who of a publisher's users is shown what, and what that adds. */
export function createExperiments({ catalog, accounts }: Needs) {
  return {
    name: 'experiments',
    routes: async (app: App) => {
      await app.register(experimentRoutes, catalog.managementHttp(accounts.auth));
    },
  };
}
