import type { Accounts } from '../accounts/room.ts';
import type { Catalog } from '../catalog/room.ts';
import type { Job } from '../platform/jobs.ts';
import type { App } from '../platform/ports.ts';
import type { Platform } from '../platform/room.ts';
import { eraseDueUsers } from './erasure-job.ts';
import { privacyPageRoutes } from './page-routes.ts';
import type { UserDataSteps } from './steps.ts';
import { privacyUserRoutes } from './user-routes.ts';

type Needs = { platform: Platform; catalog: Catalog; accounts: Accounts };

/** Erasure and export of what all rooms keep of a user. */
export function createPrivacy({ platform, catalog, accounts }: Needs) {
  const deps = { ...platform.deps, catalog: catalog.store, auth: accounts.auth };
  return {
    name: 'privacy',
    publicRoutes: async (open: App) => void (await open.register(privacyPageRoutes, deps)),
    routes: async (app: App, { userData }: { userData: UserDataSteps }) =>
      void (await app.register(privacyUserRoutes, { ...deps, userData })),
    jobs: ({ userData }: { userData: UserDataSteps }): readonly Job[] => [
      {
        name: 'erasure',
        roles: ['worker'],
        pauseMs: 1000,
        locks: 'a lease on the erasure',
        run: (isStopped) => eraseDueUsers({ ...deps, userData }, isStopped),
      },
    ],
  };
}
