import type { Accounts } from '../accounts/module.ts';
import type { Audiences } from '../audiences/module.ts';
import type { Catalog } from '../catalog/module.ts';
import { createAlone } from '../management/alone.ts';
import type { ManagementClient } from '../management/page-client.ts';
import type { App } from '../platform/http/app.ts';
import type { Job } from '../platform/jobs.ts';
import type { Platform } from '../platform/module.ts';
import type { Shell } from '../shell/layout.ts';
import type { NavEntry } from '../shell/navigation.ts';
import { privacyCommands } from './commands.ts';
import { createDesk } from './desk.ts';
import { eraseDueUsers } from './erasure-job.ts';
import { type AddressRetention, privacyPageRoutes } from './page-routes.ts';
import { deskPages } from './pages/desk.ts';
import type { UserDataSteps } from './steps.ts';
import { privacyUserRoutes } from './user-routes.ts';

type PrivacyDeps = { platform: Platform; catalog: Catalog; accounts: Accounts; audiences: Audiences };
type Parts = { userData: UserDataSteps };

/** Creates the privacy module: export and erasure of the personal data that all modules store. */
export function createPrivacy({ platform, catalog, accounts }: PrivacyDeps) {
  const alone = createAlone('userExportJob');
  const { config, pool, dbHealth, secretBox, logger, now } = platform.deps;
  const { auth } = accounts;
  const { management, store } = catalog;
  const deskOf = (userData: UserDataSteps) => createDesk({ config, secretBox, alone, userData });
  return {
    name: 'privacy',
    rank: 200,
    commands: privacyCommands,
    navigation: [entry],
    publicRoutes: async (open: App, { addressRetention }: { addressRetention: AddressRetention | null }) =>
      void (await open.register(privacyPageRoutes, { catalog: store, config, pool, dbHealth, addressRetention })),
    routes: async (app: App, { userData }: Parts) =>
      void (await app.register(privacyUserRoutes, { auth, management, desk: deskOf(userData) })),
    pages: (app: App, shell: Shell, { userData, management: client }: Parts & { management: ManagementClient }) =>
      deskPages(app, {
        ...shell,
        desk: deskOf(userData),
        management: client,
        hasDataFiles: config.dataFiles !== null,
      }),
    jobs: ({ userData }: Parts): readonly Job[] => [
      {
        name: 'erasure',
        roles: ['worker'],
        pauseMs: 1000,
        locks: 'a lease on the erasure',
        run: (isStopped) => eraseDueUsers({ config, pool, secretBox, logger, now, userData }, isStopped),
      },
    ],
  };
}

const entry: NavEntry = {
  group: 'settings',
  rank: 45,
  key: 'privacy-desk',
  text: 'nav.privacyDesk',
  words: 'navWords.privacyDesk',
  path: '/settings/privacy',
  icon: 'account',
  role: 'admin',
};
