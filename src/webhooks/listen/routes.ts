import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { type Caller, calledPublisher } from '../../accounts/caller.ts';
import type { Config } from '../../config.ts';
import { callOf, publisherQuery } from '../../management/http.ts';
import { refuseFields, strictBody } from '../../management/strict-body.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { transaction } from '../../platform/db/pool.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { emptyBodyByDefault } from '../../platform/http/body-parsing.ts';
import { createEventStreams } from '../../platform/http/event-streams.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { parseUrl } from '../../platform/lib/url.ts';
import { problem } from '../../platform/problem.ts';
import { createSigner } from '../../platform/security/tracking-token.ts';
import { webhookIdOf } from '../deliveries/view.ts';
import { addEndpoint } from '../endpoint-changes.ts';
import { endpointAnswer } from '../endpoints/schemas.ts';
import { createEndpointService } from '../endpoints/service.ts';
import { readEvents } from '../endpoints/settings.ts';
import { type EventTypes, requireEventType } from '../events.ts';
import { enqueue } from '../outbox.ts';
import { createPayloadLinks, payloadLinkPurpose } from '../payload-link.ts';
import { takeTestToken } from '../test-limit.ts';
import { invalidUrl, requireForeign } from '../url-rules.ts';
import { type AnswerDeps, createAnswers } from './answers.ts';
import { handOut } from './hand-out.ts';
import { listenerIds, markListener } from './listeners.ts';
import { answerBody, answeredAnswer, listenerBody, listenerParams, triggerAnswer, triggerBody } from './schemas.ts';

const path = '/manage/v1/webhook-listeners';
const tags = ['Webhook listeners'];
const querystring = publisherQuery;

const eventStream = {
  description: 'Stream of events.',
  content: { 'text/event-stream': { schema: Type.String() } },
};

type ListenDeps = AnswerDeps & {
  dbHealth: DatabaseHealth;
  config: Config;
  auth: Authenticator<Caller>;
  /** Event types that publishers can subscribe to. */
  events: EventTypes;
  /** Creates a function that checks whether the API key of a stream may still read it. */
  checkKey: (request: FastifyRequest) => () => boolean;
};

/** Interval at which a stream checks for due deliveries, in milliseconds. */
const pollIntervalMs = 300;

const usualEvents = (events: EventTypes): string[] =>
  [...events.values()].flatMap(({ name, isNamedOnly }) => (isNamedOnly ? [] : [name]));

/**
 * Registers the routes that send deliveries and triggered sample events to a developer's machine
 * (docs/reference/webhooks.md#listeners).
 */
export async function listenRoutes(app: App, deps: ListenDeps): Promise<void> {
  app.addHook('preValidation', emptyBodyByDefault);
  app.addHook('preValidation', deps.auth.requireKey('configurations', 'accounts'));
  app.addHook('preValidation', refuseFields);
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  createRoute(app, deps);
  streamRoutes(app, deps);
  triggerRoute(app, deps);
}

function createRoute(app: App, deps: ListenDeps): void {
  const service = createEndpointService(deps);
  app.post(
    path,
    {
      schema: {
        operationId: 'createWebhookListener',
        summary: 'Create a listener',
        description:
          'A listener counts as an endpoint and can be removed like one. It is removed automatically when no client ' +
          'uses it any more.',
        tags,
        querystring,
        body: listenerBody,
        response: { 201: endpointAnswer, ...errorAnswers(400, 401, 403, 404, 409) },
      },
      ...strictBody,
    },
    async (request, reply) => {
      const { forward_url: url, events: names = usualEvents(deps.events), description } = request.body;
      requireForwardUrl(url, deps.config.publicUrl);
      const { events = [] } = readEvents(names, deps.events);
      const input = { url, method: 'POST', enabled: true, description, events } as const;
      const { endpoint, secret } = await service.create(request, async (work) => {
        const saved = await addEndpoint(work.executor, deps.secretBox, { ...work, ...input });
        await markListener(work.executor, saved.endpoint.id);
        return saved;
      });
      return reply.code(201).send({ message: 'Listener created.', data: service.view(endpoint, secret) });
    },
  );
}

/**
 * Rejects a forward URL that points to this service, because forwarding to it would cause a loop. Any other forward URL
 * is accepted, because it is only displayed.
 * @throws AppError `invalid_endpoint`
 */
function requireForwardUrl(text: string, publicUrl: string): void {
  const url = parseUrl(text);
  if (url === null || !/^https?:\/\/[^\s\0]+$/.test(text) || !text.isWellFormed()) throw invalidUrl(problem('httpUrl'));
  if (url.username !== '' || url.password !== '') throw invalidUrl(problem('userInUrl'));
  requireForeign(url, publicUrl);
}

function streamRoutes(app: App, deps: ListenDeps): void {
  const streams = createEventStreams(deps.logger);
  app.addHook('preClose', async () => streams.close());
  const links = createPayloadLinks(createSigner(deps.config.tokenKeys, payloadLinkPurpose), deps.config.publicUrl);
  const answers = createAnswers({ ...deps, payloadLinks: links });
  const failFast = createFailFast(deps.dbHealth);

  app.get(
    `${path}/:listener/stream`,
    {
      schema: {
        operationId: 'streamDeliveries',
        summary: 'Stream the deliveries of a listener',
        description:
          'Sends each request, including its signature, as an event `delivery`. Reconnect when the stream ends.',
        tags,
        params: listenerParams,
        querystring,
        response: { 200: eventStream, ...errorAnswers(401, 403, 404) },
      },
      // Reading the stream counts as a write, because a delivery that is sent to one listener is not sent to another.
      config: { effect: 'write' },
    },
    async (request, reply) => {
      const { publisherId } = callOf(request);
      const listenerId = Number(request.params.listener);
      const first = await failFast(() => handOut(deps.pool, publisherId, listenerId));
      if (first === null) throw new AppError('endpoint_not_found');
      let waiting = first;
      const isAllowed = deps.checkKey(request);
      streams.open(reply, {
        owner: `publisher ${publisherId}`,
        publisherId,
        pauseMs: pollIntervalMs,
        isAllowed,
        next: async () => {
          const deliveries = [...waiting, ...((await handOut(deps.pool, publisherId, listenerId)) ?? endOfListener())];
          waiting = [];
          return deliveries.map(answers.eventOf);
        },
      });
      return reply;
    },
  );

  app.post(
    `${path}/:listener/answers`,
    {
      schema: {
        operationId: 'answerDelivery',
        summary: 'Report the result of a listener delivery',
        description:
          'Reports the status that your local server returned. As with other endpoints, it determines whether ' +
          'the delivery is retried.',
        tags,
        params: listenerParams,
        querystring,
        body: answerBody,
        response: { 200: answeredAnswer, ...errorAnswers(400, 401, 403, 404, 409) },
      },
      ...strictBody,
    },
    async (request) => {
      const key = { publisherId: callOf(request).publisherId, listenerId: Number(request.params.listener) };
      const settlement = await failFast(() => answers.record(key, request.body));
      const retryInMs = settlement.outcome === 'retry' ? settlement.delayMs : null;
      const data = { delivery_id: request.body.delivery_id, outcome: settlement.outcome, retry_in_ms: retryInMs };
      return { message: 'Attempt recorded.', data };
    },
  );
}

function endOfListener(): never {
  throw new Error('the listener was removed, paused or disabled');
}

function triggerRoute(app: App, { pool, dbHealth, now, events, config }: ListenDeps): void {
  const failFast = createFailFast(dbHealth);
  app.post(
    '/manage/v1/webhook-triggers',
    {
      schema: {
        operationId: 'triggerWebhook',
        summary: 'Trigger a sample event',
        description:
          'Sends the sample payload of an event type as a delivery that is retried and logged like any other. It ' +
          'has the header `perkwire-dev: 1`.',
        tags,
        querystring,
        body: triggerBody,
        response: { 202: triggerAnswer, ...errorAnswers(400, 401, 403, 404) },
      },
      ...strictBody,
    },
    async (request, reply) => {
      const publisher = calledPublisher(request);
      const { id: publisherId } = publisher;
      const type = requireEventType(events, request.body.event);
      await failFast(() => takeTestToken(pool, publisherId, now()));
      const nowMs = now();
      const payload = () => type.sample({ publisher, publicUrl: config.publicUrl, nowMs });
      const { endpoint } = request.body;
      const ids = await failFast(() =>
        transaction(pool, async (executor) => {
          const onlyEndpointIds = endpoint === undefined ? await listenerIds(executor, publisherId) : [endpoint];
          const base = { publisherId, event: type.name, sessionId: null, pubUserId: null, dev: true };
          const traceparent = request.trace?.traceparent ?? null;
          return enqueue(executor, [{ ...base, payload, nowMs, onlyEndpointIds, traceparent }]);
        }),
      );
      const deliveries = ids.map((id) => ({ id, webhook_id: webhookIdOf(id) }));
      const message = ids.length === 0 ? 'No endpoint gets this event.' : 'Event sent.';
      return reply.code(202).send({ message, data: { event: type.name, deliveries } });
    },
  );
}
