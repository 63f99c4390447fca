import type { Accounts } from '../accounts/module.ts';
import type { Budgets } from '../budgets/module.ts';
import type { Catalog } from '../catalog/module.ts';
import type { CatalogAdmin } from '../catalog-admin/module.ts';
import type { Coupons } from '../coupons/module.ts';
import type { Experiments } from '../experiments/module.ts';
import type { Offers } from '../offers/module.ts';
import type { Perks } from '../perks/module.ts';
import type { App } from '../platform/http/app.ts';
import type { Platform } from '../platform/module.ts';
import type { Reports } from '../reports/module.ts';
import type { Tracking } from '../tracking/module.ts';
import type { Webhooks } from '../webhooks/module.ts';
import { demoOperatorKey, embeddedDemoIds } from './catalogue.ts';
import { demoCommands } from './commands.ts';
import { createExampleValues } from './example-values.ts';
import type { Received } from './received.ts';
import { demoReceiverRoutes } from './receiver.ts';
import { demoShopRoutes } from './shop/routes.ts';

type DemoDeps = {
  platform: Platform;
  catalog: Catalog;
  catalogAdmin: CatalogAdmin;
  accounts: Accounts;
  budgets: Budgets;
  webhooks: Webhooks;
  reports: Reports;
  experiments: Experiments;
  coupons: Coupons;
  offers: Offers;
  tracking: Tracking;
  perks: Perks;
};

/**
 * Creates the demo module: the demo shop and the webhook receiver. Both are available only with the embedded database.
 */
export function createDemo({ platform, catalog }: DemoDeps) {
  const { config, pool, secretBox, tokens, now } = platform.deps;
  return {
    name: 'demo',
    rank: 240,
    commands: demoCommands,
    examples: {
      keys: { bearer: embeddedDemoIds.key, operator: demoOperatorKey },
      values: createExampleValues({ config, pool, tokens, now }),
    },
    routes: async (app: App) => {
      const received: Received[] = [];
      await app.register(demoReceiverRoutes, { config, pool, secretBox, now, received });
      await app.register(demoShopRoutes, { config, pool, catalog: catalog.store, now, received });
    },
  };
}
