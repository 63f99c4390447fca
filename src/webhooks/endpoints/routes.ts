import { publisherQuery } from '../../catalog/management/http.ts';
import { refuseFields, strictBody } from '../../catalog/management/strict-body.ts';
import { emptyBodyByDefault } from '../../platform/http/body-parsing.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { App } from '../../platform/ports.ts';
import { parseNets } from '../dispatcher/send/address-guard.ts';
import { requireEventType } from '../events.ts';
import type { EndpointDeps } from '../ports.ts';
import { endpointActionRoutes } from './action-routes.ts';
import { removeEndpoint, saveEndpoint } from './changes.ts';
import { endpointAnswer, endpointList, endpointsPath, eventParams, removedAnswer, saveBody } from './schemas.ts';
import { createEndpointService, type EndpointService } from './service.ts';
import { readSettings } from './settings.ts';
import { endpointTestRoutes } from './test-routes.ts';
import { requireUsableUrl, type UrlRules } from './url-rules.ts';

const path = `${endpointsPath}/:event`;
const tags = ['Webhook endpoints'];

/** Where a publisher's webhooks go: set, show, pause, rotate, test (docs/interface.md#webhook-endpoints). */
export async function endpointRoutes(app: App, deps: EndpointDeps): Promise<void> {
  const { config, auth } = deps;
  const rules: UrlRules = { allowHttp: config.webhookAllowHttp, allowNets: parseNets(config.webhookAllowNets) };
  const service = createEndpointService(deps);
  app.addHook('preValidation', emptyBodyByDefault);
  app.addHook('preValidation', auth.requireKey('configurations', 'accounts'));
  app.addHook('preValidation', refuseFields);
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  readRoutes(app, deps, service);
  writeRoutes(app, deps, service, rules);
  endpointActionRoutes(app, deps, service);
  await app.register(endpointTestRoutes, { ...deps, rules });
}

function readRoutes(app: App, { events }: Pick<EndpointDeps, 'events'>, service: EndpointService): void {
  app.get(
    endpointsPath,
    {
      schema: {
        summary: 'List the webhook endpoints and their state',
        tags,
        querystring: publisherQuery,
        response: { 200: endpointList, ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => ({ message: 'Endpoints found.', data: await service.list(request) }),
  );

  app.get(
    path,
    {
      schema: {
        summary: 'Show a webhook endpoint and its state',
        tags,
        params: eventParams(events),
        querystring: publisherQuery,
        response: { 200: endpointAnswer, ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => {
      const event = requireEventType(events, request.params.event).name;
      return { message: 'Endpoint found.', data: await service.show(request, event) };
    },
  );
}

function writeRoutes(
  app: App,
  { events, secretBox }: Pick<EndpointDeps, 'events' | 'secretBox'>,
  service: EndpointService,
  rules: UrlRules,
): void {
  const params = eventParams(events);

  app.put(
    path,
    {
      schema: {
        summary: 'Set a webhook endpoint',
        tags,
        params,
        querystring: publisherQuery,
        body: saveBody,
        response: { 200: endpointAnswer, 201: endpointAnswer, ...errorAnswers(400, 401, 403, 404) },
      },
      ...strictBody,
    },
    async (request, reply) => {
      const { body } = request;
      const event = requireEventType(events, request.params.event).name;
      requireUsableUrl(body.url, rules);
      const { endpoint, secret } = await service.change(request, event, (executor, key, stored) =>
        saveEndpoint(executor, secretBox, readSettings(key, body, secretBox, stored)),
      );
      reply.code(secret === null ? 200 : 201);
      return {
        message: secret === null ? 'Endpoint saved.' : 'Endpoint created.',
        data: service.view(endpoint, secret),
      };
    },
  );

  app.delete(
    path,
    {
      schema: {
        summary: 'Remove a webhook endpoint',
        description: 'It gets no new deliveries. Pending ones are held; redeliver them once the endpoint is set again.',
        tags,
        params,
        querystring: publisherQuery,
        response: { 200: removedAnswer, ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => {
      const event = requireEventType(events, request.params.event).name;
      await service.change(request, event, removeEndpoint);
      return { message: 'Endpoint removed.', data: { event, removed: true } };
    },
  );
}
