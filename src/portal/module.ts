import type { Accounts } from '../accounts/module.ts';
import type { Catalog } from '../catalog/module.ts';
import type { ManagementClient } from '../management/page-client.ts';
import type { Offers } from '../offers/module.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import type { App } from '../platform/http/app.ts';
import type { Platform } from '../platform/module.ts';
import type { AssetUrl, Shell } from '../shell/layout.ts';
import type { NavEntry, Navigation } from '../shell/navigation.ts';
import type { EventTypes } from '../webhooks/events.ts';
import type { Webhooks } from '../webhooks/module.ts';
import { portalCommands } from './commands.ts';
import { deleteOldLinks } from './links.ts';
import { linksPath, portalLinkPages } from './links-page.ts';
import { portalPages } from './pages.ts';
import { portalRoutes } from './routes.ts';

type PortalModules = { platform: Platform; catalog: Catalog; accounts: Accounts; webhooks: Webhooks; offers: Offers };

type Contributions = { events: EventTypes; management: ManagementClient; navigation: Navigation };

/** Creates the portal module: pages of a publisher that other websites embed with links of one hour. */
export function createPortal({ platform, catalog, accounts, webhooks, offers }: PortalModules) {
  const { config, pool, dbHealth, secretBox, now } = platform.deps;
  const { management, store } = catalog;
  return {
    name: 'portal',
    rank: 225,
    retention,
    commands: portalCommands,
    navigation,
    routes: async (app: App) =>
      void (await app.register(portalRoutes, { management, auth: accounts.auth, config, now })),
    pages: (app: App, shell: Shell, { management: client }: { management: ManagementClient }) =>
      portalLinkPages(app, shell, { catalog: store, management: client, config }),
    framedPages: (app: App, asset: AssetUrl, contributions: Contributions) =>
      portalPages(
        app,
        { pool, dbHealth, catalog: store, management, secretBox, config, now },
        {
          asset,
          navigation: contributions.navigation,
          registerPages: (closed, shell, isOpen) => {
            webhooks.pages(closed, shell, contributions);
            offers.livePages(closed, shell, ({ sessionId }) => isOpen(sessionId));
          },
        },
      ),
  };
}

const retention: RetentionStep = async (pool, _days, nowMs) => ({ portal_links: await deleteOldLinks(pool, nowMs) });

const navigation: readonly NavEntry[] = [
  {
    group: 'developers',
    rank: 55,
    key: 'portal-links',
    text: 'portal.links',
    words: 'navWords.portalLinks',
    path: linksPath,
    icon: 'portal',
    role: 'admin',
  },
];
