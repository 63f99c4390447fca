import { keyRoutes } from '../../accounts/key-routes.ts';
import { keys } from '../../accounts/keys.ts';
import { auditLog } from '../../management/audit.ts';
import { callOf } from '../../management/http.ts';
import { type RowsDoor, resourceRoutes } from '../../management/resource-routes.ts';
import { createManagement } from '../../management/service.ts';
import { isOperator } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/ports.ts';
import { createSigner } from '../../platform/security/keyring.ts';
import type { CatalogDeps } from '../ports.ts';
import { advertisers } from './advertisers.ts';
import { campaigns } from './campaigns.ts';
import { catalogueRoutes } from './catalogue/routes.ts';
import { creativeRoutes } from './creative-routes.ts';
import { creatives } from './creatives.ts';
import { offers } from './offers.ts';
import { placements } from './placements.ts';
import { provisionRoutes } from './provision-routes.ts';
import { publishers } from './publishers.ts';
import { sequenceRules } from './sequence-rules.ts';
import { themes } from './themes.ts';

/** A body of management calls may hold this much (bytes). */
const bodyLimit = 1024 * 1024;

const all = ['list', 'create', 'get', 'update', 'remove'] as const;

/** REST over the configuration: `/manage/v1`. */
export async function managementRoutes(app: App, deps: CatalogDeps): Promise<void> {
  const door: RowsDoor = {
    management: createManagement(deps),
    deps,
    cursors: createSigner(deps.config.tokenKeys, 'list-cursor'),
  };
  app.addHook('onRoute', (route) => {
    route.bodyLimit ??= bodyLimit;
  });
  // The schemas of the routes are for the description; what is checked, and in which words, is the same for pages and
  // files.
  app.setValidatorCompiler(() => (value) => ({ value }));
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));

  await app.register(async (operators: App) => {
    operators.addHook('preHandler', async (request) => {
      if (request.method === 'POST' && !isOperator(callOf(request).actor))
        throw new AppError('permission_denied', { message: 'The key lacks the permission accounts.' });
    });
    resourceRoutes(operators, door, publishers, ['list', 'create', 'get', 'update']);
  });
  resourceRoutes(app, door, keys, ['list', 'get', 'update', 'remove']);
  keyRoutes(app, door);
  resourceRoutes(app, door, placements, all);
  for (const resource of [themes, advertisers, campaigns, offers, sequenceRules])
    resourceRoutes(app, door, resource, [...all, 'restore']);
  resourceRoutes(app, door, creatives, ['list', 'get', 'update', 'remove', 'restore']);
  await app.register(async (uploads: App) => creativeRoutes(uploads, door));
  provisionRoutes(app, door);
  catalogueRoutes(app, door);
  resourceRoutes(app, door, auditLog, ['list']);
}
