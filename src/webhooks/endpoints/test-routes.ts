import type { Static } from '@sinclair/typebox';
import type pg from 'pg';
import { calledPublisher } from '../../accounts/caller.ts';
import type { Config } from '../../config.ts';
import { publisherQuery } from '../../management/http.ts';
import { strictBody } from '../../management/strict-body.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { problem } from '../../platform/problem.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { kindOf, pullUrl } from '../destinations/kinds.ts';
import { isCustomHeader, readDestination } from '../destinations/settings.ts';
import { defaultSettings } from '../endpoint-changes.ts';
import { type Endpoint, findEndpoint } from '../endpoint-store.ts';
import { type EventType, type EventTypes, requireEventType } from '../events.ts';
import type { Sender } from '../sender.ts';
import { createEndpointSecret, openHeaders, openSecrets, openV1aKeys, type SealedHeaders } from '../signature.ts';
import { takeTestToken } from '../test-limit.ts';
import type { Transformer } from '../transformations/transform.ts';
import { invalidUrl, requireUsableUrl, type UrlRules } from '../url-rules.ts';
import { readHeaders } from './custom-headers.ts';
import { endpointParams, endpointPath, readEndpointRef, testAnswer, testBody } from './schemas.ts';
import { type TestTarget, testEndpoint } from './test-endpoint.ts';

/** Dependencies of the Test Endpoint route. */
export type TestDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  config: Config;
  secretBox: SecretBox;
  sender: Sender;
  transformer: Transformer;
  events: EventTypes;
  /** Returns the current time in epoch milliseconds. */
  now: () => number;
};

/**
 * Registers the Test Endpoint route, which sends a sample payload immediately and returns the response
 * (docs/reference/webhooks.md#webhook-events).
 */
export async function endpointTestRoutes(app: App, { rules, ...deps }: TestDeps & { rules: UrlRules }): Promise<void> {
  const { config, pool, now, events } = deps;
  const failFast = createFailFast(deps.dbHealth);

  app.post(
    `${endpointPath}/test`,
    {
      schema: {
        operationId: 'testWebhookEndpoint',
        summary: 'Test a webhook endpoint',
        description:
          'Sends a sample payload with the saved settings, or with the settings in the body. Nothing is stored ' +
          'or retried.',
        tags: ['Webhook endpoints'],
        params: endpointParams,
        querystring: publisherQuery,
        body: testBody,
        response: { 200: testAnswer, ...errorAnswers(400, 401, 403, 404) },
      },
      ...strictBody,
    },
    async (request) => {
      const publisher = calledPublisher(request);
      const ref = readEndpointRef(request.params.endpoint, events);
      await failFast(() => takeTestToken(pool, publisher.id, now()));
      const saved = await failFast(() => findEndpoint(pool, publisher.id, ref));
      if (saved === null && typeof ref === 'number') throw new AppError('endpoint_not_found');
      const eventType = requireEventType(events, request.body.event ?? saved?.events[0] ?? String(ref));
      const target = readTarget(eventType, request.body, saved, { ...deps, rules });
      const tools = { sender: deps.sender, transformer: deps.transformer, publisher, publicUrl: config.publicUrl, now };
      const data = await testEndpoint(target, tools);
      return { message: data.delivered ? 'The endpoint took the test.' : 'The endpoint did not take the test.', data };
    },
  );
}

/**
 * Reads the URL or destination to test from the request body, or from the saved settings if the body has neither.
 * @throws AppError `endpoint_not_found` if the publisher has no such endpoint; `invalid_endpoint` if it cannot be used
 */
export function readTarget(
  eventType: EventType,
  requested: Static<typeof testBody>,
  saved: Endpoint | null,
  { rules, ...deps }: { secretBox: SecretBox; rules: UrlRules },
): TestTarget {
  const { destination, url = saved?.url } = requested;
  const isOther = destination !== undefined && destination.kind !== 'http';
  const requestedTarget = isOther ? readDestination(destination, { box: deps.secretBox, stored: saved, rules }) : null;
  const target = requestedTarget?.url ?? url;
  if (target === undefined) throw new AppError('endpoint_not_found');
  if (target === pullUrl) throw invalidUrl(problem('pullTest'));
  if (requestedTarget === null && target !== saved?.url) requireUsableUrl(target, rules);
  return targetOf(eventType, target, requested, saved, { ...deps, sealed: requestedTarget?.headers });
}

/**
 * Merges the settings in the request body with the saved settings. The call is signed with the saved secret. If there
 * is none, it is signed with a secret generated for this call.
 */
function targetOf(
  eventType: EventType,
  url: string,
  requested: Static<typeof testBody>,
  saved: Endpoint | null,
  { secretBox, sealed: ownSecrets = {} }: { secretBox: SecretBox; sealed?: SealedHeaders | undefined },
): TestTarget {
  const sealed = saved?.secrets ?? { current: createEndpointSecret(secretBox).sealed, previous: null };
  // Saved headers may be credentials. Send them only to the origin for which they were saved.
  const stored = saved !== null && isSameTarget(url, saved.url) ? openHeaders(secretBox, saved.headers) : {};
  const custom = requested.headers === undefined ? stored : readHeaders(requested.headers, stored);
  return {
    eventType,
    url,
    method: requested.method ?? saved?.method ?? 'POST',
    headers: { ...secretHeaders(stored), ...custom, ...openHeaders(secretBox, ownSecrets) },
    secrets: openSecrets(secretBox, sealed),
    v1aKeys: saved?.signatureV1a && saved.v1aKeySealed !== null ? openV1aKeys(secretBox, [saved.v1aKeySealed]) : [],
    deadlineMs: requested.deadline_ms ?? saved?.deadlineMs ?? defaultSettings.deadlineMs,
    transformation: requested.transformation === undefined ? (saved?.transformation ?? null) : requested.transformation,
  };
}

/** Whether the headers saved for one URL may also be sent to another. */
const isSameTarget = (url: string, saved: string): boolean =>
  kindOf(url) === 'http' ? new URL(url).origin === new URL(saved).origin : url === saved;

const secretHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !isCustomHeader(name)));
