import cors from '@fastify/cors';
import { registerBodyParsing } from './platform/http/body-parsing.ts';
import { corsOptions } from './platform/http/cors.ts';
import { registerErrorHandling } from './platform/http/error-handler.ts';
import { closeGracefully } from './platform/http/graceful-close.ts';
import { shedIdleConnections } from './platform/http/idle-connections.ts';
import { registerRequestLog } from './platform/http/request-log.ts';
import { traceRequests } from './platform/http/request-trace.ts';
import { errorSchema } from './platform/http/schemas.ts';
import { createServer } from './platform/http/server.ts';
import { countRequests } from './platform/metrics/routes.ts';
import type { App, PlatformDeps } from './platform/ports.ts';
import type { House } from './runtime/room.ts';

type AppOptions = {
  house: House;
  deps: PlatformDeps;
  /** A process without the role `api` answers health checks and metrics only. */
  serveApi: boolean;
};

/** The HTTP side: what the rooms hand in, in their order. */
export async function buildApp({ house, deps, serveApi }: AppOptions): Promise<App> {
  const { app, direct } = createServer(deps);
  const { rooms } = house;
  for (const schema of [errorSchema, ...rooms.flatMap(({ schemas }) => schemas ?? [])]) app.addSchema(schema);
  registerErrorHandling(app, deps.failures);
  registerRequestLog(app, deps.logger);
  traceRequests(app, deps.tracing);
  closeGracefully(app);
  shedIdleConnections(app);
  for (const { prepare } of rooms)
    await prepare?.(app, serveApi ? house : { ...house, describedPaths: {}, events: new Map() });
  await registerBodyParsing(app);
  app.decorateRequest('caller', null);
  countRequests(app, deps.metrics);
  for (const { probes } of rooms) await probes?.(app);
  if (!serveApi) return app;
  await app.register(async (open: App) => {
    await open.register(cors, corsOptions);
    for (const { observe } of rooms) observe?.(open);
    for (const { publicRoutes } of rooms) await publicRoutes?.(open, { ...house, direct });
  });
  for (const { routes } of rooms) await routes?.(app, house);
  return app;
}
