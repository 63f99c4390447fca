import type { PageExtensions } from '../../catalog/pages.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { ImageStoreSetting } from '../../config/image-store.ts';
import { callOf, type ManagementHttp } from '../../management/http.ts';
import { deleteOldIdempotencyKeys } from '../../management/idempotency.ts';
import { openManagementScope, resourceRoutes } from '../../management/resource-routes.ts';
import { isOperator } from '../../management/unit-of-work.ts';
import type { RetentionStep } from '../../platform/db/retention.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { problem } from '../../platform/problem.ts';
import { fontRoutes } from '../fonts/routes.ts';
import { advertisers } from './advertisers.ts';
import { campaigns } from './campaigns.ts';
import { catalogueRoutes } from './catalogue/routes.ts';
import { controlsRoutes } from './controls-routes.ts';
import { creativeRoutes } from './creative-routes.ts';
import { creatives } from './creatives.ts';
import { exchangeRatesRoutes } from './exchange-rates-routes.ts';
import { offers } from './offers.ts';
import { placements } from './placements.ts';
import { provisionRoutes } from './provision-routes.ts';
import { publishers } from './publishers.ts';
import { sequenceRules } from './sequence-rules.ts';
import { stopRoutes } from './stop-routes.ts';
import { themes } from './themes.ts';
import { translationRoutes } from './translation-routes.ts';

const all = ['list', 'create', 'get', 'update', 'remove'] as const;

/** Registers the REST API for managing the configuration, `/manage/v1`. */
export async function managementRoutes(
  app: App,
  {
    http,
    imageStore,
    publicUrl,
    store,
    extensions,
  }: {
    imageStore: ImageStoreSetting;
    publicUrl: string;
    http: ManagementHttp;
    store: CatalogStore;
    extensions: PageExtensions;
  },
): Promise<void> {
  openManagementScope(app);
  await app.register(async (operators: App) => {
    operators.addHook('preHandler', async (request) => {
      if (request.method === 'POST' && !isOperator(callOf(request).actor))
        throw new AppError('permission_denied', { message: problem('permissionLacking', { permission: 'accounts' }) });
    });
    resourceRoutes(operators, http, publishers, ['list', 'create', 'get', 'update']);
  });
  controlsRoutes(app, http, { store, extensions });
  exchangeRatesRoutes(app, http);
  fontRoutes(app, http, { extensions, publicUrl });
  resourceRoutes(app, http, placements, all);
  for (const resource of [themes, advertisers, campaigns, offers, sequenceRules])
    resourceRoutes(app, http, resource, [...all, 'restore']);
  for (const resource of [advertisers, campaigns, offers]) stopRoutes(app, http, resource);
  resourceRoutes(app, http, creatives, ['list', 'get', 'update', 'remove', 'restore']);
  await app.register(async (uploads: App) => creativeRoutes(uploads, http, imageStore));
  provisionRoutes(app, http);
  translationRoutes(app, http);
  catalogueRoutes(app, http, imageStore);
}

/** Deletes stored responses to idempotent requests after one day. */
export const applyCatalogRetention: RetentionStep = async (pool, _days, nowMs) => ({
  idempotencyKeys: await deleteOldIdempotencyKeys(pool, nowMs),
});
