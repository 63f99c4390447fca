import cors from '@fastify/cors';
import type { Config } from './config.ts';
import type { App } from './platform/http/app.ts';
import { registerBodyParsing, registerHotBodyParsing } from './platform/http/body-parsing.ts';
import { corsOptions } from './platform/http/cors.ts';
import { registerErrorHandling, watchRoutes } from './platform/http/error-handler.ts';
import type { FailureLimit } from './platform/http/failure-limit.ts';
import { closeGracefully } from './platform/http/graceful-close.ts';
import { createHotRoutes, registerRequestLog } from './platform/http/hot-routes.ts';
import { shedIdleConnections } from './platform/http/idle-connections.ts';
import { traceRequests } from './platform/http/request-trace.ts';
import { errorSchema } from './platform/http/schemas.ts';
import { createServer } from './platform/http/server.ts';
import type { Logger } from './platform/logger.ts';
import { countRequests, type Metrics } from './platform/metrics/metrics.ts';
import type { Tracing } from './platform/tracing/tracing.ts';
import type { Contributions } from './runtime/module.ts';

type AppOptions = {
  contributions: Contributions;
  deps: {
    config: Config;
    logger: Logger;
    failures: FailureLimit;
    metrics: Metrics;
    tracing: Tracing;
  };
  /** Whether to serve the API. A process without the `api` role only serves health checks and metrics. */
  serveApi: boolean;
};

/**
 * Builds the HTTP server from the modules' contributions, in module order. Fastify hooks apply to all child scopes.
 * Hooks that hot routes do not need are therefore added to a sibling scope. Only route registration hooks are added to
 * the root.
 */
export async function buildApp({ contributions, deps, serveApi }: AppOptions): Promise<App> {
  const { modules } = contributions;
  const app = createServer(deps);
  const methodsAt = watchRoutes(app);
  for (const schema of [errorSchema, ...modules.flatMap(({ schemas }) => schemas ?? [])]) app.addSchema(schema);
  app.decorateRequest('caller', null);
  app.decorateRequest('refusal', null);
  app.decorateRequest('trace', null);
  shedIdleConnections(app);
  for (const { prepare } of modules)
    await prepare?.(app, serveApi ? contributions : { ...contributions, events: new Map() });
  if (serveApi)
    await app.register(async (scope: App) => {
      registerHotBodyParsing(scope);
      const hot = createHotRoutes(scope, deps);
      for (const { hotRoutes } of modules) await hotRoutes?.(scope, hot, contributions);
    });
  await app.register(async (scope: App) => {
    registerErrorHandling(scope, deps.failures, methodsAt);
    registerRequestLog(scope, deps.logger);
    traceRequests(scope, deps.tracing);
    closeGracefully(app, scope);
    await registerBodyParsing(scope);
    countRequests(scope, deps.metrics);
    for (const { probes } of modules) await probes?.(scope, contributions);
    if (serveApi) await registerApi(scope, contributions);
  });
  return app;
}

async function registerApi(app: App, contributions: Contributions): Promise<void> {
  const { modules } = contributions;
  await app.register(async (open: App) => {
    await open.register(cors, corsOptions);
    for (const { observe } of modules) observe?.(open);
    for (const { publicRoutes } of modules) await publicRoutes?.(open, contributions);
  });
  for (const { observeRoutes } of modules) observeRoutes?.(app);
  for (const { routes } of modules) await routes?.(app, contributions);
}
