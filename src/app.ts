import { STATUS_CODES } from 'node:http';
import cors from '@fastify/cors';
import Fastify, { LogController } from 'fastify';
import { sdkRoutes } from './browser/serve/routes.ts';
import { imageRoutes } from './catalog/images/routes.ts';
import { managementRoutes } from './catalog/management/routes.ts';
import { dashboardRoutes } from './dashboard/routes.ts';
import { demoReceiverRoutes, type Received } from './embedded/demo/receiver.ts';
import { demoShopRoutes } from './embedded/demo/shop/routes.ts';
import { catalogueRoutes } from './offers/catalogue-feed/routes.ts';
import { decisionRoutes } from './offers/decision-log/routes.ts';
import { offerRoutes } from './offers/fetch/routes.ts';
import { createOfferService } from './offers/fetch/service.ts';
import { offerwallPageRoutes } from './offers/offerwall/page-routes.ts';
import { offerwallRoutes } from './offers/offerwall/routes.ts';
import { uspSelection } from './perks/usp/event-type.ts';
import { uspRoutes } from './perks/usp/routes.ts';
import { offerRemoved, offerSaved } from './perks/wallet/event-types.ts';
import { walletPageRoutes } from './perks/wallet/page-routes.ts';
import { walletRoutes } from './perks/wallet/routes.ts';
import { AppError, type ErrorCode } from './platform/errors.ts';
import { healthRoutes } from './platform/health/routes.ts';
import { maxBodyBytes, registerBodyParsing } from './platform/http/body-parsing.ts';
import { errorBody, registerErrorHandling, sendError, toAppError } from './platform/http/error-handler.ts';
import { closeGracefully } from './platform/http/graceful-close.ts';
import { serverTimeouts, shedIdleConnections } from './platform/http/idle-connections.ts';
import { lazySerializers } from './platform/http/lazy-serializers.ts';
import { registerOpenApi } from './platform/http/openapi.ts';
import { sharedSchemas } from './platform/http/schemas.ts';
import { loggedUrl } from './platform/logger.ts';
import { countRequests, metricsRoutes } from './platform/metrics/routes.ts';
import type { App } from './platform/ports.ts';
import { privacyPageRoutes } from './privacy/page-routes.ts';
import { privacyUserRoutes } from './privacy/user-routes.ts';
import { reportRoutes } from './reports/query/routes.ts';
import type { Deps } from './runtime/create-deps.ts';
import { userData } from './runtime/user-data.ts';
import { conversionEvent } from './tracking/conversions/event-type.ts';
import { conversionRoutes } from './tracking/conversions/routes.ts';
import { conversionSecretRoutes } from './tracking/conversions/secret-routes.ts';
import { trackingRoutes } from './tracking/routes.ts';
import { deliveryRoutes } from './webhooks/deliveries/routes.ts';
import { endpointRoutes } from './webhooks/endpoints/routes.ts';
import { registerEventTypes } from './webhooks/events.ts';
import { payloadRoutes } from './webhooks/message/payload-routes.ts';
import { redeliveryRoutes } from './webhooks/redelivery/routes.ts';

/** Browsers of any origin call the public routes (docs/interface.md#fetch-offers). */
const corsOptions = {
  origin: '*',
  methods: ['GET', 'POST', 'PUT', 'OPTIONS'],
  allowedHeaders: ['content-type', 'authorization', 'x-sdk-id', 'accept'],
  credentials: false,
  maxAge: 86_400,
  strictPreflight: false, // an OPTIONS that no browser sent asks the same
};

/** Every event that publishers can subscribe to. */
export const eventTypes = registerEventTypes([uspSelection, offerSaved, offerRemoved, conversionEvent]);

export type AppOptions = {
  /** A process without the role `api` answers health checks only. */
  serveApi: boolean;
  /** The shop at /demo, and what takes and lists its webhooks at /demo/receiver; embedded demo only. */
  demoReceiver: boolean;
};

/** The HTTP side: every plugin and feature, registered by hand, in order. */
export async function buildApp(deps: Deps, { serveApi, demoReceiver }: AppOptions): Promise<App> {
  const app: App = createServer(deps);
  for (const schema of sharedSchemas) app.addSchema(schema);
  registerErrorHandling(app, deps.failures);
  registerRequestLog(app, deps.logger);
  closeGracefully(app);
  shedIdleConnections(app);
  await registerOpenApi(app, deps.config.publicUrl);
  await registerBodyParsing(app);
  app.decorateRequest('caller', null);

  if (deps.metrics !== null) countRequests(app, deps.metrics);

  await app.register(healthRoutes, { ...deps, catalogVersion: () => deps.catalog.current().version });
  await app.register(metricsRoutes, deps);
  if (!serveApi) return app;
  const offers = createOfferService(deps);
  await app.register(async (open: App) => {
    await open.register(cors, corsOptions);
    await open.register(offerRoutes, { ...deps, offers });
    await open.register(catalogueRoutes, deps);
    await open.register(offerwallRoutes, { ...deps, offers });
    await open.register(trackingRoutes, deps);
    await open.register(conversionRoutes, deps);
    await open.register(uspRoutes, deps);
    await open.register(walletRoutes, deps);
    await open.register(imageRoutes, deps);
    await open.register(privacyPageRoutes, deps);
    await open.register(sdkRoutes, deps);
    await open.register(reportRoutes, deps);
  });
  await app.register(offerwallPageRoutes, deps);
  await app.register(walletPageRoutes, deps);
  await app.register(payloadRoutes, deps);
  await app.register(endpointRoutes, { ...deps, events: eventTypes });
  await app.register(deliveryRoutes, { ...deps, events: eventTypes });
  await app.register(redeliveryRoutes, { ...deps, events: eventTypes });
  await app.register(decisionRoutes, { ...deps, offers });
  await app.register(conversionSecretRoutes, deps);
  await app.register(dashboardRoutes, { ...deps, events: eventTypes });
  await app.register(managementRoutes, deps);
  await app.register(privacyUserRoutes, { ...deps, userData });
  if (demoReceiver) {
    const received: Received[] = [];
    await app.register(demoReceiverRoutes, { ...deps, received });
    await app.register(demoShopRoutes, { ...deps, received });
  }
  return app;
}

function createServer({ config, logger }: Deps): App {
  const prefix = Math.random().toString(36).slice(2, 8);
  let requests = 0;
  const hops = config.trustProxy;
  return Fastify({
    loggerInstance: logger,
    // Lines that belong to a request name its id; a logger of its own for each request costs more than most requests
    // log.
    childLoggerFactory: (parent) => parent,
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: typeof hops === 'number' ? (_address: string, hop: number) => hop < hops : hops,
    bodyLimit: maxBodyBytes,
    requestTimeout: serverTimeouts.requestTimeout,
    http: serverTimeouts,
    keepAliveTimeout: 72_000,
    return503OnClosing: false, // what arrives on an open connection while closing is still served, and told to close
    forceCloseConnections: 'idle',
    genReqId: () => `${prefix}-${(++requests).toString(36)}`,
    frameworkErrors: (err, request, reply) => void sendError(request, reply, toAppError(err)),
    clientErrorHandler(err, socket) {
      if (!socket.writable) return void socket.destroy(err);
      const error = new AppError(connectionErrors[(err as NodeJS.ErrnoException).code ?? ''] ?? 'malformed_request');
      const body = JSON.stringify(errorBody(error, `${prefix}-${(++requests).toString(36)}`));
      socket.end(
        `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      );
    },
    schemaController: { compilersFactory: { buildSerializer: lazySerializers } },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: true, allErrors: false } },
  }) as unknown as App;
}

/** What is wrong with a request that the parser gave up, by Node's code. */
const connectionErrors: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** One line a request at level debug; failures are logged where they are handled. */
function registerRequestLog(app: App, logger: Deps['logger']): void {
  if (!logger.isLevelEnabled('debug')) return;
  app.addHook('onResponse', async (request, reply) => {
    const { method, url, id } = request;
    request.log.debug(
      { method, url: loggedUrl(url), requestId: id, status: reply.statusCode, ms: Math.round(reply.elapsedTime) },
      'request',
    );
  });
}
