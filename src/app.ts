import cors from '@fastify/cors';
import { sdkRoutes } from './browser/serve/routes.ts';
import { templateRoutes } from './browser/serve/templates.ts';
import { imageRoutes } from './catalog/images/routes.ts';
import { conversionSecretRoutes } from './catalog/resources/conversion-secret-routes.ts';
import { managementRoutes } from './catalog/resources/routes.ts';
import { dashboardRoutes } from './dashboard/routes.ts';
import { demoExamples } from './demo/api-examples.ts';
import type { Received } from './demo/received.ts';
import { demoReceiverRoutes } from './demo/receiver.ts';
import { demoShopRoutes } from './demo/shop/routes.ts';
import { catalogueRoutes } from './offers/catalogue-feed/routes.ts';
import { decisionLogRoutes } from './offers/decision-log/routes.ts';
import { explainRoutes } from './offers/fetch/explain-routes.ts';
import { offerRoutes } from './offers/fetch/routes.ts';
import { createOfferService } from './offers/fetch/service.ts';
import { recordLiveCalls } from './offers/live-calls/record.ts';
import { offerwallPageRoutes } from './offers/offerwall/page-routes.ts';
import { offerwallRoutes } from './offers/offerwall/routes.ts';
import { offerSchemas } from './offers/render/schemas.ts';
import { uspSelection } from './perks/usp/event-type.ts';
import { uspRoutes } from './perks/usp/routes.ts';
import { offerRemoved, offerSaved } from './perks/wallet/event-types.ts';
import { walletPageRoutes } from './perks/wallet/page-routes.ts';
import { walletRoutes } from './perks/wallet/routes.ts';
import { healthRoutes } from './platform/health/routes.ts';
import { registerBodyParsing } from './platform/http/body-parsing.ts';
import { corsOptions } from './platform/http/cors.ts';
import { registerErrorHandling } from './platform/http/error-handler.ts';
import { closeGracefully } from './platform/http/graceful-close.ts';
import { shedIdleConnections } from './platform/http/idle-connections.ts';
import { registerRequestLog } from './platform/http/request-log.ts';
import { traceRequests } from './platform/http/request-trace.ts';
import { errorSchema } from './platform/http/schemas.ts';
import { createServer } from './platform/http/server.ts';
import { countRequests, metricsRoutes } from './platform/metrics/routes.ts';
import type { App } from './platform/ports.ts';
import { privacyPageRoutes } from './privacy/page-routes.ts';
import { privacyUserRoutes } from './privacy/user-routes.ts';
import { eventCatalogueRoutes, webhooksOf } from './reference/event-catalogue.ts';
import { guideRoutes } from './reference/guides/routes.ts';
import { registerOpenApi } from './reference/openapi/register.ts';
import { reportRoutes } from './reports/query/routes.ts';
import type { Deps } from './runtime/create-deps.ts';
import { userData } from './runtime/user-data.ts';
import { beaconPaths } from './tracking/beacons/openapi.ts';
import { conversionEvent } from './tracking/conversions/event-type.ts';
import { conversionRoutes } from './tracking/conversions/routes.ts';
import { trackingRoutes } from './tracking/routes.ts';
import { deliveryRoutes } from './webhooks/deliveries/routes.ts';
import { endpointRoutes } from './webhooks/endpoints/routes.ts';
import { registerEventTypes } from './webhooks/events.ts';
import { listenRoutes } from './webhooks/listen/routes.ts';
import { payloadRoutes } from './webhooks/message/payload-routes.ts';
import { operationalEventTypes } from './webhooks/operational/event-types.ts';
import { redeliveryRoutes } from './webhooks/redelivery/routes.ts';

/** Every event that publishers can subscribe to. */
export const eventTypes = registerEventTypes([
  uspSelection,
  offerSaved,
  offerRemoved,
  conversionEvent,
  ...operationalEventTypes,
]);

export type AppOptions = {
  /** A process without the role `api` answers health checks only. */
  serveApi: boolean;
  /** The shop at /demo, and what takes and lists its webhooks at /demo/receiver; embedded demo only. */
  demoReceiver: boolean;
};

/** The HTTP side: every plugin and feature, registered by hand, in order. */
export async function buildApp(deps: Deps, { serveApi, demoReceiver }: AppOptions): Promise<App> {
  const { app, direct } = createServer(deps);
  for (const schema of [errorSchema, ...offerSchemas]) app.addSchema(schema);
  registerErrorHandling(app, deps.failures);
  registerRequestLog(app, deps.logger);
  traceRequests(app, deps.tracing);
  closeGracefully(app);
  shedIdleConnections(app);
  const catalogue = { events: eventTypes, publicUrl: deps.config.publicUrl };
  const described = serveApi ? { paths: beaconPaths(), webhooks: webhooksOf(catalogue) } : { paths: {}, webhooks: {} };
  await registerOpenApi(app, deps.config.publicUrl, described, demoReceiver ? demoExamples(deps) : null);
  await registerBodyParsing(app);
  app.decorateRequest('caller', null);

  countRequests(app, deps.metrics);

  await app.register(healthRoutes, { ...deps, catalogVersion: () => deps.catalog.current().version });
  await app.register(metricsRoutes, deps);
  if (!serveApi) return app;
  const offers = createOfferService(deps);
  await app.register(async (open: App) => {
    await open.register(cors, corsOptions);
    recordLiveCalls(open, deps);
    await open.register(offerRoutes, { ...deps, offers });
    await open.register(catalogueRoutes, deps);
    await open.register(offerwallRoutes, { ...deps, offers });
    await open.register(trackingRoutes, { ...deps, direct });
    await open.register(conversionRoutes, deps);
    await open.register(uspRoutes, deps);
    await open.register(walletRoutes, deps);
    await open.register(imageRoutes, deps);
    await open.register(privacyPageRoutes, deps);
    await open.register(sdkRoutes, deps);
    await open.register(templateRoutes, deps);
    await open.register(reportRoutes, deps);
  });
  await app.register(offerwallPageRoutes, deps);
  await app.register(walletPageRoutes, deps);
  await app.register(payloadRoutes, deps);
  await app.register(eventCatalogueRoutes, catalogue);
  await app.register(guideRoutes, { publicUrl: deps.config.publicUrl, isDemo: demoReceiver });
  await app.register(endpointRoutes, { ...deps, events: eventTypes });
  await app.register(listenRoutes, { ...deps, events: eventTypes });
  await app.register(deliveryRoutes, { ...deps, events: eventTypes });
  await app.register(redeliveryRoutes, { ...deps, events: eventTypes });
  await app.register(decisionLogRoutes, deps);
  await app.register(explainRoutes, { ...deps, offers });
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
