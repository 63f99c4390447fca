import cors from '@fastify/cors';
import { registerBodyParsing, registerHotBodyParsing } from './platform/http/body-parsing.ts';
import { corsOptions } from './platform/http/cors.ts';
import { registerErrorHandling, watchRoutes } from './platform/http/error-handler.ts';
import { closeGracefully } from './platform/http/graceful-close.ts';
import { createHotRoutes, registerRequestLog } from './platform/http/hot-routes.ts';
import { shedIdleConnections } from './platform/http/idle-connections.ts';
import { traceRequests } from './platform/http/request-trace.ts';
import { errorSchema } from './platform/http/schemas.ts';
import { createServer } from './platform/http/server.ts';
import { countRequests } from './platform/metrics/metrics.ts';
import type { App, PlatformDeps } from './platform/ports.ts';
import type { House } from './runtime/room.ts';

type AppOptions = {
  house: House;
  deps: PlatformDeps;
  /** A process without the role `api` answers health checks and metrics only. */
  serveApi: boolean;
};

/**
 * The HTTP side: what the rooms hand in, in their order. Hooks reach all scopes below the one that they are added to;
 * so all but those of the registration of routes are added to a scope beside the one of the hot routes.
 */
export async function buildApp({ house, deps, serveApi }: AppOptions): Promise<App> {
  const { rooms } = house;
  const app = createServer(deps);
  const methodsAt = watchRoutes(app);
  for (const schema of [errorSchema, ...rooms.flatMap(({ schemas }) => schemas ?? [])]) app.addSchema(schema);
  app.decorateRequest('caller', null);
  app.decorateRequest('trace', null);
  shedIdleConnections(app);
  for (const { prepare } of rooms) await prepare?.(app, serveApi ? house : { ...house, events: new Map() });
  if (serveApi)
    await app.register(async (scope: App) => {
      registerHotBodyParsing(scope);
      const hot = createHotRoutes(scope, deps);
      for (const { hotRoutes } of rooms) await hotRoutes?.(scope, hot);
    });
  await app.register(async (scope: App) => {
    registerErrorHandling(scope, deps.failures, methodsAt);
    registerRequestLog(scope, deps.logger);
    traceRequests(scope, deps.tracing);
    closeGracefully(app, scope);
    await registerBodyParsing(scope);
    countRequests(scope, deps.metrics);
    for (const { probes } of rooms) await probes?.(scope, house);
    if (serveApi) await registerApi(scope, house);
  });
  return app;
}

async function registerApi(app: App, house: House): Promise<void> {
  const { rooms } = house;
  await app.register(async (open: App) => {
    await open.register(cors, corsOptions);
    for (const { observe } of rooms) observe?.(open);
    for (const { publicRoutes } of rooms) await publicRoutes?.(open, house);
  });
  for (const { observeRoutes } of rooms) observeRoutes?.(app);
  for (const { routes } of rooms) await routes?.(app, house);
}
