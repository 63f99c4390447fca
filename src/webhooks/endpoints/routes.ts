import type { Caller } from '../../accounts/caller.ts';
import { publisherQuery } from '../../management/http.ts';
import { refuseFields } from '../../management/strict-body.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { emptyBodyByDefault } from '../../platform/http/body-parsing.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { removeEndpoint } from '../endpoint-changes.ts';
import type { EventTypes } from '../events.ts';
import { urlRulesOf } from '../url-rules.ts';
import { endpointActionRoutes } from './action-routes.ts';
import { endpointPreviewRoutes } from './preview-routes.ts';
import {
  endpointAnswer,
  endpointList,
  endpointParams,
  endpointPath,
  endpointsPath,
  readEndpointRef,
  removedAnswer,
} from './schemas.ts';
import { createEndpointService, type EndpointService } from './service.ts';
import { endpointTestRoutes, type TestDeps } from './test-routes.ts';
import { warnOfUrl } from './url-warnings.ts';
import { endpointWriteRoutes, type WriteDeps } from './write-routes.ts';

const tags = ['Webhook endpoints'];

type RouteDeps = TestDeps & WriteDeps & { auth: Authenticator<Caller> };

/**
 * Registers the routes that set, show, pause, rotate and test webhook endpoints
 * (docs/reference/webhooks.md#webhook-endpoints).
 */
export async function endpointRoutes(app: App, deps: RouteDeps): Promise<void> {
  const { config, auth } = deps;
  const rules = urlRulesOf(config);
  const service = createEndpointService(deps);
  app.addHook('preValidation', emptyBodyByDefault);
  app.addHook('preValidation', auth.requireKey('configurations', 'accounts'));
  app.addHook('preValidation', refuseFields);
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  readRoutes(app, deps, service);
  endpointWriteRoutes(app, deps, service, rules);
  removeRoute(app, deps, service);
  endpointActionRoutes(app, deps, service);
  await app.register(endpointTestRoutes, { ...deps, rules });
  await app.register(endpointPreviewRoutes, deps);
}

function readRoutes(app: App, { events }: { events: EventTypes }, service: EndpointService): void {
  app.get(
    endpointsPath,
    {
      schema: {
        operationId: 'listWebhookEndpoints',
        summary: 'List webhook endpoints',
        description: 'Returns endpoints with their health. Secrets are not returned.',
        tags,
        querystring: publisherQuery,
        response: { 200: endpointList, ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => ({ message: 'Endpoints found.', data: await service.list(request) }),
  );

  app.get(
    endpointPath,
    {
      schema: {
        operationId: 'getWebhookEndpoint',
        summary: 'Get a webhook endpoint',
        description: '`endpoint` is an ID, or an event type for its default endpoint.',
        tags,
        params: endpointParams,
        querystring: publisherQuery,
        response: { 200: endpointAnswer, ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => {
      const ref = readEndpointRef(request.params.endpoint, events);
      const data = await service.show(request, ref);
      return { message: 'Endpoint found.', data, warnings: warnOfUrl(data, events) };
    },
  );
}

function removeRoute(app: App, { events }: { events: EventTypes }, service: EndpointService): void {
  app.delete(
    endpointPath,
    {
      schema: {
        operationId: 'removeWebhookEndpoint',
        summary: 'Remove a webhook endpoint',
        description:
          'The endpoint gets no new deliveries, and pending ones are held. Held deliveries of a default endpoint ' +
          'can be redelivered after it has been set again.',
        tags,
        params: endpointParams,
        querystring: publisherQuery,
        response: { 200: removedAnswer, ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => {
      const ref = readEndpointRef(request.params.endpoint, events);
      const { id, event } = await service.change(request, ref, removeEndpoint);
      return { message: 'Endpoint removed.', data: { id, event, removed: true } };
    },
  );
}
