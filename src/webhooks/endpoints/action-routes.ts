import type { Static, TSchema } from '@sinclair/typebox';
import { publisherQuery } from '../../management/http.ts';
import { strictBody } from '../../management/strict-body.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import type { Endpoint } from '../endpoint-store.ts';
import type { EventTypes } from '../events.ts';
import { enableEndpoint, pauseEndpoint, resumeEndpoint, rotateSecret } from './actions.ts';
import { endpointAnswer, endpointParams, endpointPath, readEndpointRef, resumeBody, rotateBody } from './schemas.ts';
import type { Change, EndpointService } from './service.ts';

type Action<Body extends TSchema> = {
  operationId: string;
  description: string;
  summary: string;
  body?: Body;
  run: (...args: [...Parameters<Change<unknown>>, Static<Body>]) => Promise<ActionResult>;
};

/** `secret` is set if it is new. */
type ActionResult = { message: string; endpoint: Endpoint; secret?: string };

/** Routes to pause, resume, enable, disable, and rotate the secret (docs/reference/webhooks.md#webhook-endpoints). */
export function endpointActionRoutes(
  app: App,
  { events, secretBox }: { events: EventTypes; secretBox: SecretBox },
  service: EndpointService,
): void {
  const action = <Body extends TSchema>(name: string, { body, run, ...described }: Action<Body>): void => {
    const schema = {
      ...described,
      tags: ['Webhook endpoints'],
      params: endpointParams,
      querystring: publisherQuery,
      ...(body && { body }),
      response: { 200: endpointAnswer, ...errorAnswers(400, 401, 403, 404) },
    };
    app.post(`${endpointPath}/${name}`, { schema, ...strictBody }, async (request) => {
      const ref = readEndpointRef((request.params as Static<typeof endpointParams>).endpoint, events);
      const { message, endpoint, secret } = await service.change(request, ref, (executor, key, stored) =>
        run(executor, key, stored, request.body as Static<Body>),
      );
      return { message, data: service.view(endpoint, secret) };
    });
  };

  action('pause', {
    operationId: 'pauseWebhookEndpoint',
    summary: 'Pause a webhook endpoint',
    description: 'Its deliveries stay queued until it is resumed.',
    run: async (executor, key) => ({ message: 'Endpoint paused.', endpoint: await pauseEndpoint(executor, key) }),
  });
  action('resume', {
    operationId: 'resumeWebhookEndpoint',
    summary: 'Resume a webhook endpoint',
    description: 'Queued deliveries are sent, at `rate_per_s` where that is given.',
    body: resumeBody,
    run: async (executor, key, _stored, { rate_per_s: ratePerS = null }) => ({
      message: 'Endpoint resumed.',
      endpoint: await resumeEndpoint(executor, key, ratePerS),
    }),
  });
  action('enable', {
    operationId: 'enableWebhookEndpoint',
    summary: 'Enable a webhook endpoint',
    description: 'Held deliveries stay held until they are redelivered.',
    run: async (executor, key) => ({
      message: 'Endpoint enabled.',
      endpoint: await enableEndpoint(executor, key, true),
    }),
  });
  action('disable', {
    operationId: 'disableWebhookEndpoint',
    summary: 'Disable a webhook endpoint',
    description: 'Its deliveries, also those still to come, are held.',
    run: async (executor, key) => ({
      message: 'Endpoint disabled.',
      endpoint: await enableEndpoint(executor, key, false),
    }),
  });
  action('rotate-secret', {
    operationId: 'rotateWebhookSecret',
    summary: 'Rotate the signing secret',
    description: 'The new secret is shown only this once. The previous one signs too until the overlap ends.',
    body: rotateBody,
    run: async (executor, key, _stored, { overlap_s: overlapS }) => ({
      message: 'Secret rotated.',
      ...(await rotateSecret(executor, secretBox, key, overlapS)),
    }),
  });
}
