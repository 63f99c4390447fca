import type { Static, TSchema } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { callOf, publisherQuery } from '../../catalog/management/http.ts';
import { createFailFast } from '../../platform/db/fail-fast.ts';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import { emptyBodyByDefault } from '../../platform/http/body-parsing.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { App } from '../../platform/ports.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { parseNets } from '../dispatcher/send/address-guard.ts';
import { requireEventType } from '../events.ts';
import type { EndpointDeps } from '../ports.ts';
import { changeEndpoint } from './audit.ts';
import {
  type EndpointInput,
  type EndpointKey,
  enableEndpoint,
  pauseEndpoint,
  removeEndpoint,
  resumeEndpoint,
  rotateSecret,
  saveEndpoint,
} from './changes.ts';
import { readHeaders } from './custom-headers.ts';
import {
  endpointAnswer,
  endpointList,
  endpointsPath,
  eventParams,
  maxRetryS,
  removedAnswer,
  resumeBody,
  rotateBody,
  saveBody,
} from './schemas.ts';
import { openHeaders, sealHeaders } from './secrets.ts';
import { type Endpoint, listEndpoints } from './store.ts';
import { endpointTestRoutes } from './test-routes.ts';
import { requireUsableUrl, type UrlRules } from './url-rules.ts';
import { viewOfEndpoint, viewOfState } from './view.ts';

const path = `${endpointsPath}/:event`;
const tags = ['Webhook endpoints'];

/** Where a publisher's webhooks go: set, show, pause, rotate, test (docs/interface.md#webhook-endpoints). */
export async function endpointRoutes(app: App, deps: EndpointDeps): Promise<void> {
  const { config, pool, secretBox, now, events } = deps;
  const params = eventParams(events);
  const rules: UrlRules = { allowHttp: config.webhookAllowHttp, allowNets: parseNets(config.webhookAllowNets) };
  const guarded = createFailFast(deps.dbHealth);
  app.addHook('preValidation', emptyBodyByDefault);
  app.addHook('preValidation', deps.auth.requireKey('configurations', 'accounts'));
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  /** Changes the caller's endpoint of an event, in one transaction with its entry in the audit log. */
  const change = <T>(request: FastifyRequest, event: string, work: Change<T>): Promise<T> => {
    const { actor, publisherId } = callOf(request);
    const by = { actor, publisherId, nowMs: now() };
    return guarded(() =>
      transaction(pool, (executor) =>
        changeEndpoint({ ...by, executor }, event, secretBox, (key, stored) => work(executor, key, stored)),
      ),
    );
  };
  const answerOf = (message: string, endpoint: Endpoint, secret: string | null = null) => ({
    message,
    data: { ...viewOfEndpoint(endpoint, secretBox), ...(secret !== null && { secret }) },
  });

  app.get(
    endpointsPath,
    {
      schema: {
        summary: 'List the webhook endpoints and how they fare',
        tags,
        querystring: publisherQuery,
        response: { 200: endpointList, ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => {
      const found = await guarded(() => listEndpoints(pool, callOf(request).publisherId, null));
      const data = found.map(({ endpoint, health }) => ({
        ...viewOfEndpoint(endpoint, secretBox),
        state: viewOfState(endpoint, health),
      }));
      return { message: 'Endpoints found.', data };
    },
  );

  app.get(
    path,
    {
      schema: {
        summary: 'Show a webhook endpoint and how it fares',
        tags,
        params,
        querystring: publisherQuery,
        response: answers(200, 401, 403, 404),
      },
    },
    async (request) => {
      const event = requireEventType(events, request.params.event).name;
      const [found] = await guarded(() => listEndpoints(pool, callOf(request).publisherId, event));
      if (found === undefined) throw new AppError('endpoint_not_found');
      const { message, data } = answerOf('Endpoint found.', found.endpoint);
      return { message, data: { ...data, state: viewOfState(found.endpoint, found.health) } };
    },
  );

  app.put(
    path,
    {
      schema: {
        summary: 'Set a webhook endpoint',
        tags,
        params,
        querystring: publisherQuery,
        body: saveBody,
        response: { ...answers(200, 400, 401, 403, 404), 201: endpointAnswer },
      },
    },
    async (request, reply) => {
      const event = requireEventType(events, request.params.event).name;
      requireUsableUrl(request.body.url, rules);
      const { endpoint, secret } = await change(request, event, (executor, key, stored) =>
        saveEndpoint(executor, secretBox, inputOf(key, request.body, secretBox, stored)),
      );
      reply.code(secret === null ? 200 : 201);
      return answerOf(secret === null ? 'Endpoint saved.' : 'Endpoint created.', endpoint, secret);
    },
  );

  app.delete(
    path,
    {
      schema: {
        summary: 'Remove a webhook endpoint',
        description:
          'It gets no new deliveries; those that are pending are held and can be redelivered once it is set again.',
        tags,
        params,
        querystring: publisherQuery,
        response: { 200: removedAnswer, ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => {
      const event = requireEventType(events, request.params.event).name;
      await change(request, event, removeEndpoint);
      return { message: 'Endpoint removed.', data: { event, removed: true } };
    },
  );

  const action = <Body extends TSchema>(
    name: string,
    { summary, body, run }: { summary: string; body?: Body; run: Action<Static<Body>> },
  ): void => {
    const schema = {
      summary,
      tags,
      params,
      querystring: publisherQuery,
      ...(body && { body }),
      response: answers(200, 400, 401, 403, 404),
    };
    app.post(`${path}/${name}`, { schema }, async (request) => {
      const event = requireEventType(events, (request.params as Static<typeof params>).event).name;
      const {
        message,
        endpoint,
        secret = null,
      } = await change(request, event, (executor, key) => run(executor, key, request.body as Static<Body>));
      return answerOf(message, endpoint, secret);
    });
  };

  action('pause', {
    summary: 'Pause: deliveries stay queued',
    run: async (executor, key) => ({ message: 'Endpoint paused.', endpoint: await pauseEndpoint(executor, key) }),
  });
  action('resume', {
    summary: 'Resume after a pause',
    body: resumeBody,
    run: async (executor, key, { rate_per_s = null }) => ({
      message: 'Endpoint resumed.',
      endpoint: await resumeEndpoint(executor, key, rate_per_s),
    }),
  });
  action('enable', {
    summary: 'Enable; held deliveries stay held until they are redelivered',
    run: async (executor, key) => ({
      message: 'Endpoint enabled.',
      endpoint: await enableEndpoint(executor, key, true),
    }),
  });
  action('disable', {
    summary: 'Disable: deliveries are held',
    run: async (executor, key) => ({
      message: 'Endpoint disabled.',
      endpoint: await enableEndpoint(executor, key, false),
    }),
  });
  action('rotate-secret', {
    summary: 'Give it a new secret, shown this once; the old one signs beside it for a while',
    body: rotateBody,
    run: async (executor, key, { overlap_s }) => ({
      message: 'Secret rotated.',
      ...(await rotateSecret(executor, secretBox, key, overlap_s)),
    }),
  });

  await app.register(endpointTestRoutes, { ...deps, rules });
}

type Change<T> = (executor: Executor, key: EndpointKey, stored: Endpoint | null) => Promise<T>;
type Action<Body> = (
  executor: Executor,
  key: EndpointKey,
  body: Body,
) => Promise<{ message: string; endpoint: Endpoint; secret?: string }>;

const answers = (ok: 200, ...errors: number[]) => ({ [ok]: endpointAnswer, ...errorAnswers(...errors) });

type SaveBody = Static<typeof saveBody>;

/** @throws AppError `invalid_endpoint` for headers or waits that cannot be used */
function inputOf(key: EndpointKey, body: SaveBody, box: SecretBox, stored: Endpoint | null): EndpointInput {
  const { url, method, enabled, headers, retry_steps_s: steps } = body;
  if (steps) requireUsableSteps(steps);
  return {
    ...key,
    url,
    method,
    enabled,
    ...(headers !== undefined && {
      headers: sealHeaders(box, readHeaders(headers, openHeaders(box, stored?.headers ?? {}))),
    }),
    ...(body.deadline_ms !== undefined && { deadlineMs: body.deadline_ms }),
    ...(steps !== undefined && { retryStepsS: steps }),
    ...(body.max_in_flight !== undefined && { maxInFlight: body.max_in_flight }),
    ...(body.rate_limit_per_s !== undefined && { rateLimitPerS: body.rate_limit_per_s }),
    ...(body.strict_order !== undefined && { strictOrder: body.strict_order }),
    ...(body.signature_v1a !== undefined && { signatureV1a: body.signature_v1a }),
  };
}

function requireUsableSteps(steps: readonly number[]): void {
  const totalS = steps.reduce((sum, step) => sum + step, 0);
  const message =
    steps[0] !== 0
      ? 'must begin with 0: the first attempt is made at once'
      : totalS > maxRetryS
        ? 'must be at most 7 days together'
        : null;
  if (message !== null) throw new AppError('invalid_endpoint', { details: [{ path: '/retry_steps_s', message }] });
}
