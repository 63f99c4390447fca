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

/** Result of an endpoint action. `secret` is set only if a new secret was generated. */
type ActionResult = { message: string; endpoint: Endpoint; secret?: string };

/**
 * Registers the routes to pause, resume, enable and disable an endpoint, and to rotate its secret
 * (docs/reference/webhooks.md#webhook-endpoints).
 */
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
    description: 'Deliveries are queued until the endpoint is resumed.',
    run: async (executor, key) => ({ message: 'Endpoint paused.', endpoint: await pauseEndpoint(executor, key) }),
  });
  action('resume', {
    operationId: 'resumeWebhookEndpoint',
    summary: 'Resume a webhook endpoint',
    description: 'Sends queued deliveries, limited to `rate_per_s` if it is set.',
    body: resumeBody,
    run: async (executor, key, _stored, { rate_per_s: ratePerS = null }) => ({
      message: 'Endpoint resumed.',
      endpoint: await resumeEndpoint(executor, key, ratePerS),
    }),
  });
  action('enable', {
    operationId: 'enableWebhookEndpoint',
    summary: 'Enable a webhook endpoint',
    description: 'New deliveries are sent. Held deliveries stay held until they are redelivered.',
    run: async (executor, key) => ({
      message: 'Endpoint enabled.',
      endpoint: await enableEndpoint(executor, key, true),
    }),
  });
  action('disable', {
    operationId: 'disableWebhookEndpoint',
    summary: 'Disable a webhook endpoint',
    description: 'Pending and future deliveries are held.',
    run: async (executor, key) => ({
      message: 'Endpoint disabled.',
      endpoint: await enableEndpoint(executor, key, false),
    }),
  });
  action('rotate-secret', {
    operationId: 'rotateWebhookSecret',
    summary: 'Rotate the signing secret',
    description:
      'Returns the new secret, which is shown only in this response. The previous secret also signs until the ' +
      'overlap ends.',
    body: rotateBody,
    run: async (executor, key, _stored, { overlap_s: overlapS }) => ({
      message: 'Secret rotated.',
      ...(await rotateSecret(executor, secretBox, key, overlapS)),
    }),
  });
}
