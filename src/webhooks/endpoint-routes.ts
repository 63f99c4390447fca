import { Type } from '@sinclair/typebox';
import { transaction } from '../db/pool.ts';
import { createStoreGuard } from '../db/store-guard.ts';
import type { App, Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { callerOf } from '../http/auth.ts';
import { emptyBodyForNone } from '../http/body.ts';
import { createRateLimit } from '../http/failure-limit.ts';
import { errorAnswers } from '../http/schemas.ts';
import { parseNets } from './dispatcher/address-guard.ts';
import type { Method } from './dispatcher/compose.ts';
import { createEndpointSecret, openSecrets } from './endpoint-secrets.ts';
import {
  type Endpoint,
  findEndpoint,
  isWebhookEvent,
  requireUsableUrl,
  saveEndpoint,
  type UrlRules,
  type WebhookEvent,
} from './endpoints.ts';
import { type TestTarget, testEndpoint } from './test-endpoint.ts';

const path = '/manage/v1/webhook-endpoints/:event';
const tags = ['Webhook endpoints'];
/** Ten tests at once, and ten a minute after that. */
const testRate = { perS: 10 / 60, burst: 10 };
const defaultDeadlineMs = 15_000;

const orNull = <Schema extends ReturnType<typeof Type.String | typeof Type.Number>>(schema: Schema) => Type.Union([schema, Type.Null()]);

const params = Type.Object({ event: Type.String({ examples: ['usp.selection'] }) });
const url = Type.String({ description: 'https, at most 2,000 characters, no user name or password; its query is kept.' });
const method = Type.Union([Type.Literal('POST'), Type.Literal('GET')]);
const saveBody = Type.Object({ url, method, enabled: Type.Boolean({ default: true }) });
const testBody = Type.Object({ url: Type.Optional(url), method: Type.Optional(method) });

const endpointView = Type.Object({
  event: Type.String(),
  url: Type.String(),
  method,
  enabled: Type.Boolean(),
  disabled_reason: orNull(Type.String({ description: '`gone`: the receiver answered 410.' })),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
  secret: Type.Optional(
    Type.String({ description: '`whsec_…`, which verifies the signature. Only in the answer that creates the endpoint.' }),
  ),
});
const endpointAnswer = Type.Object({ message: Type.String(), data: endpointView });

const testAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    delivered: Type.Boolean(),
    status: orNull(Type.Number()),
    error: Type.Union([Type.Object({ class: Type.String(), message: Type.String() }), Type.Null()]),
    timing: Type.Union([
      Type.Object({
        dns_ms: Type.Number(),
        connect_ms: orNull(Type.Number()),
        first_byte_ms: orNull(Type.Number()),
        total_ms: Type.Number(),
      }),
      Type.Null(),
    ]),
    headers: Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()]),
    body: orNull(Type.String({ description: 'The first 4 KiB.' })),
  }),
});

/** Where a publisher's webhooks go: set, show, test (specification 4.4). */
export async function endpointRoutes(app: App, deps: Deps): Promise<void> {
  const { config, pool, secretBox, now } = deps;
  const rules: UrlRules = { allowHttp: config.webhookAllowHttp, allowNets: parseNets(config.webhookAllowNets) };
  const guarded = createStoreGuard(deps.pulse);
  const takeTest = createRateLimit(now);
  const preValidation = [emptyBodyForNone, deps.auth.requireKey('configurations')];

  app.put(
    path,
    {
      schema: {
        summary: 'Set a webhook endpoint',
        tags,
        params,
        body: saveBody,
        response: { 200: endpointAnswer, 201: endpointAnswer, ...errorAnswers(400, 401, 403, 404) },
      },
      preValidation,
    },
    async (request, reply) => {
      const event = eventOf(request.params.event);
      requireUsableUrl(request.body.url, rules);
      const input = { ...request.body, publisherId: callerOf(request).publisher.id, event, nowMs: now() };
      const { endpoint, secret } = await guarded(() => transaction(pool, (executor) => saveEndpoint(executor, secretBox, input)));
      reply.code(secret === null ? 200 : 201).header('cache-control', 'no-store');
      return {
        message: secret === null ? 'Endpoint saved.' : 'Endpoint created.',
        data: { ...viewOf(endpoint), ...(secret !== null && { secret }) },
      };
    },
  );

  app.get(
    path,
    {
      schema: { summary: 'Show a webhook endpoint', tags, params, response: { 200: endpointAnswer, ...errorAnswers(401, 403, 404) } },
      preValidation,
    },
    async (request, reply) => {
      const event = eventOf(request.params.event);
      const endpoint = await guarded(() => findEndpoint(pool, callerOf(request).publisher.id, event));
      if (endpoint === null) throw new AppError('endpoint_not_found');
      reply.header('cache-control', 'no-store');
      return { message: 'Endpoint found.', data: viewOf(endpoint) };
    },
  );

  app.post(
    `${path}/test`,
    {
      schema: {
        summary: 'Test Endpoint: send a dummy payload',
        description: 'Uses the saved settings, or those of the body before they are saved. Nothing is stored or tried again.',
        tags,
        params,
        body: testBody,
        response: { 200: testAnswer, ...errorAnswers(400, 401, 403, 404) },
      },
      preValidation,
    },
    async (request, reply) => {
      const { publisher } = callerOf(request);
      const event = eventOf(request.params.event);
      if (!takeTest(String(publisher.id), testRate)) throw new AppError('too_many_requests', { retryAfterS: Math.ceil(1 / testRate.perS) });
      const saved = await guarded(() => findEndpoint(pool, publisher.id, event));
      const target = targetOf(event, request.body, saved, deps);
      requireUsableUrl(target.url, rules);
      const data = await testEndpoint(target, { sender: deps.sender, publisher, publicUrl: config.publicUrl, now });
      reply.header('cache-control', 'no-store');
      return { message: data.delivered ? 'The endpoint took the test.' : 'The endpoint did not take the test.', data };
    },
  );
}

function eventOf(name: string): WebhookEvent {
  if (!isWebhookEvent(name)) throw new AppError('endpoint_not_found', { message: 'There is no such event.' });
  return name;
}

const viewOf = ({ event, url, method, enabled, disabledReason, createdAt, updatedAt }: Endpoint) => ({
  event,
  url,
  method,
  enabled,
  disabled_reason: disabledReason,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt.toISOString(),
});

/** What to test: the body's settings before the saved ones, with the saved secret, else one made for this call only. */
function targetOf(event: WebhookEvent, asked: { url?: string; method?: Method }, saved: Endpoint | null, { secretBox }: Deps): TestTarget {
  const url = asked.url ?? saved?.url;
  if (url === undefined) throw new AppError('endpoint_not_found');
  const sealed = saved?.secrets ?? { current: createEndpointSecret(secretBox).sealed, previous: null };
  return {
    event,
    url,
    method: asked.method ?? saved?.method ?? 'POST',
    secrets: openSecrets(secretBox, sealed),
    deadlineMs: saved?.deadlineMs ?? defaultDeadlineMs,
  };
}
