import { callOf, post, publisherQuery } from '../../management/http.ts';
import { idempotencyKey } from '../../management/resource-routes.ts';
import { strictBody } from '../../management/strict-body.ts';
import type { Management } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { addEndpoint, type Saved, saveEndpoint, updateEndpoint } from '../endpoint-changes.ts';
import type { EventTypes } from '../events.ts';
import type { Transformer } from '../transformations/transform.ts';
import type { UrlRules } from '../url-rules.ts';
import { createEndpoint } from './audit.ts';
import {
  createBody,
  endpointAnswer,
  endpointParams,
  endpointPath,
  endpointsPath,
  patchBody,
  readEndpointRef,
  saveBody,
} from './schemas.ts';
import type { EndpointService } from './service.ts';
import { readEvents, readSettings } from './settings.ts';
import { warnOfUrl } from './url-warnings.ts';

/** Dependencies of the routes, in addition to the endpoint service. */
export type WriteDeps = {
  events: EventTypes;
  secretBox: SecretBox;
  management: Management;
  transformer: Transformer;
};

const tags = ['Webhook endpoints'];
const querystring = publisherQuery;

/** Registers the routes that create, set and change endpoints (docs/reference/webhooks.md#webhook-endpoints). */
export function endpointWriteRoutes(app: App, deps: WriteDeps, service: EndpointService, rules: UrlRules): void {
  createRoute(app, deps, service, rules);
  putRoute(app, deps, service, rules);
  patchRoute(app, deps, service, rules);
}

const answerOf = (service: EndpointService, { endpoint, secret }: Saved, events: EventTypes) => ({
  message: secret === null ? 'Endpoint saved.' : 'Endpoint created.',
  data: service.view(endpoint, secret),
  warnings: warnOfUrl(endpoint, events),
});

function createRoute(app: App, deps: WriteDeps, service: EndpointService, rules: UrlRules): void {
  const { events, secretBox: box, transformer } = deps;
  app.post(
    endpointsPath,
    {
      schema: {
        operationId: 'createWebhookEndpoint',
        summary: 'Create a webhook endpoint',
        description:
          'Requires a `url` or a non-HTTP `destination`. Returns the signing secret, which is included only in this ' +
          'response.',
        tags,
        querystring,
        headers: idempotencyKey,
        body: createBody,
        response: { 201: endpointAnswer, ...errorAnswers(400, 401, 403, 404, 409, 422) },
      },
      ...strictBody,
    },
    async (request, reply) => {
      const { body } = request;
      await transformer.check(body.transformation, callOf(request).publisherId);
      const { url = '', ...settings } = readSettings(body, { box, stored: null, rules });
      const { events: names = [] } = readEvents(body.events, events);
      return post(deps, request, reply, async (work) => {
        const { publisherId, nowMs } = work;
        const add = () => addEndpoint(work.executor, box, { ...settings, url, events: names, publisherId, nowMs });
        return { status: 201, body: answerOf(service, await createEndpoint(work, box, add), events), headers: {} };
      });
    },
  );
}

function putRoute(app: App, deps: WriteDeps, service: EndpointService, rules: UrlRules): void {
  const { events, secretBox: box, transformer } = deps;
  app.put(
    endpointPath,
    {
      schema: {
        operationId: 'saveWebhookEndpoint',
        summary: 'Set the default endpoint of an event type',
        description:
          '`endpoint` is an event type. Its default endpoint is created if it does not exist. A new ' +
          'secret is shown only in this response.',
        tags,
        params: endpointParams,
        querystring,
        body: saveBody,
        response: { 200: endpointAnswer, 201: endpointAnswer, ...errorAnswers(400, 401, 403, 404, 409) },
      },
      ...strictBody,
    },
    async (request, reply) => {
      const { body } = request;
      const ref = readEndpointRef(request.params.endpoint, events);
      await transformer.check(body.transformation, callOf(request).publisherId);
      const saved = await service.change(request, ref, async (executor, key, stored) => {
        const settings = readSettings(body, { box, stored, rules });
        const event = typeof ref === 'string' ? ref : (stored?.event ?? null);
        const list = readEvents(body.events, events, event);
        if (typeof ref === 'string')
          return saveEndpoint(executor, box, {
            ...settings,
            publisherId: key.publisherId,
            event: ref,
            nowMs: key.nowMs,
          });
        return { endpoint: await updateEndpoint(executor, box, key, { ...settings, ...list }), secret: null };
      });
      reply.code(saved.secret === null ? 200 : 201);
      return answerOf(service, saved, events);
    },
  );
}

function patchRoute(app: App, deps: WriteDeps, service: EndpointService, rules: UrlRules): void {
  const { events, secretBox: box, transformer } = deps;
  app.patch(
    endpointPath,
    {
      schema: {
        operationId: 'updateWebhookEndpoint',
        summary: 'Update a webhook endpoint',
        description: 'Omitted settings stay unchanged.',
        tags,
        params: endpointParams,
        querystring,
        body: patchBody,
        response: { 200: endpointAnswer, ...errorAnswers(400, 401, 403, 404) },
      },
      ...strictBody,
    },
    async (request) => {
      const { body } = request;
      const ref = readEndpointRef(request.params.endpoint, events);
      await transformer.check(body.transformation, callOf(request).publisherId);
      const endpoint = await service.change(request, ref, (executor, key, stored) => {
        if (stored === null) throw new AppError('endpoint_not_found');
        const settings = readSettings(body, { box, stored, rules });
        const list = readEvents(body.events, events, stored.event);
        return updateEndpoint(executor, box, key, { ...settings, ...list });
      });
      return answerOf(service, { endpoint, secret: null }, events);
    },
  );
}
