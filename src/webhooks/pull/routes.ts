import type { FastifyRequest } from 'fastify';
import type pg from 'pg';
import type { Caller } from '../../accounts/caller.ts';
import type { Config } from '../../config.ts';
import { callOf } from '../../management/http.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { Logger } from '../../platform/logger.ts';
import { problem } from '../../platform/problem.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { createSigner } from '../../platform/security/tracking-token.ts';
import type { EndpointActivity } from '../activity/activity.ts';
import { webhookIdOf } from '../deliveries/view.ts';
import { prepare } from '../dispatcher/send/attempt.ts';
import type { DispatcherMetrics } from '../metrics.ts';
import { createPayloadLinks, payloadLinkPurpose } from '../payload-link.ts';
import {
  invalidCursor,
  type PulledEvent,
  type PulledPage,
  type PullRequest,
  pullEndpointIds,
  pullEvents,
} from './events.ts';
import { pullAnswer, pullQuery } from './schemas.ts';
import { recordAcknowledgement } from './stalled.ts';
import { createPullWaits } from './waits.ts';

type PullDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  config: Config;
  secretBox: SecretBox;
  auth: Authenticator<Caller>;
  logger: Logger;
  activity: EndpointActivity;
  dispatcherMetrics: DispatcherMetrics;
  /** Creates a function that checks whether the API key of a waiting call is still allowed to read events. */
  checkKey: (request: FastifyRequest) => () => boolean;
  now: () => number;
};

const defaultLimit = 100;

/** Permission of an API key that only pulls events. */
export const pullPermission = 'events';

/** Registers the route from which consumers pull events (docs/guides/destinations.md#pull). */
export async function pullRoutes(app: App, deps: PullDeps): Promise<void> {
  const { pool, config, secretBox, now } = deps;
  const failFast = createFailFast(deps.dbHealth);
  const waits = createPullWaits(pool);
  const payloadLinks = createPayloadLinks(createSigner(config.tokenKeys, payloadLinkPurpose), config.publicUrl);
  app.addHook('preClose', async () => waits.close());

  const read = async (request: PullRequest): Promise<PulledPage> => {
    const page = await failFast(() => pullEvents(pool, request));
    if (page.acknowledged > 0) await noteAcknowledged(deps, request.endpointId, page);
    return page;
  };

  const viewOf = ({ claimed, position }: PulledEvent) => {
    const call = prepare(claimed, { secretBox, payloadLinks, now });
    if ('kind' in call) throw new Error('an event could not be signed');
    const { deliveryId, endpointId, event, payload } = claimed;
    const ids = { delivery_id: deliveryId, webhook_id: webhookIdOf(deliveryId), event };
    const body = (call.body ?? payload).toString('utf8');
    return { cursor: cursorOf(endpointId, position), ...ids, headers: call.headers, body };
  };

  app.get(
    '/manage/v1/events',
    {
      schema: {
        operationId: 'pullEvents',
        summary: 'Pull events',
        description:
          'Returns the oldest events that have not been acknowledged, in order. Each event has the headers and the ' +
          'exact body of its webhook. To acknowledge the events, pass the `cursor` of the response as `after` in the ' +
          'next call.',
        tags: ['Deliveries'],
        querystring: pullQuery,
        response: { 200: pullAnswer, ...errorAnswers(400, 401, 403, 404, 409) },
      },
      preValidation: deps.auth.requireKey(pullPermission, 'configurations', 'accounts'),
      // This counts as a write, because it acknowledges earlier events.
      config: { effect: 'write' },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const { publisherId } = callOf(request);
      const { endpoint, after, limit = defaultLimit, wait = 0 } = request.query;
      const endpointId = Number(endpoint ?? (await failFast(() => onlyEndpoint(pool, publisherId))));
      const position = after === undefined ? null : positionOf(endpointId, after);
      const pull = { publisherId, endpointId, after: position, limit: Number(limit) };
      const isAllowed = deps.checkKey(request);
      const first = await read(pull);
      let { events } = first;
      if (events.length === 0 && Number(wait) > 0) {
        const closed = new AbortController();
        reply.raw.once('close', () => closed.abort());
        await waits.wait(endpointId, Number(wait) * 1000, closed.signal);
        if (!isAllowed()) throw new AppError('unknown_key');
        // Don't read events for a client that has disconnected: they would only start attempts.
        if (!closed.signal.aborted) ({ events } = await read(pull));
      }
      const last = events.at(-1);
      return {
        message: events.length === 0 ? 'No events.' : 'Events found.',
        data: {
          endpoint_id: endpointId,
          events: events.map(viewOf),
          cursor: last === undefined ? (after ?? null) : cursorOf(endpointId, last.position),
          acknowledged: first.acknowledged,
        },
      };
    },
  );
}

async function noteAcknowledged(
  { pool, logger, activity, dispatcherMetrics }: PullDeps,
  endpointId: number,
  { acknowledged, isStale }: PulledPage,
): Promise<void> {
  const attempt = { claimed: { endpointId }, outcome: 'delivered', timing: null } as const;
  activity.settled(Array.from({ length: acknowledged }, () => attempt));
  for (let count = 0; count < acknowledged; count++) dispatcherMetrics.meter.attempted('delivered');
  if (!isStale) return;
  await recordAcknowledgement(pool, { endpointId, maxInFlight: 1 }).catch((err) =>
    logger.warn({ err }, 'writing endpoint health failed'),
  );
}

const cursorOf = (endpointId: number, position: number): string => `${endpointId}.${position}`;

/**
 * Returns the position in a cursor.
 * @throws AppError `invalid_request` if it is not a cursor of this endpoint
 */
function positionOf(endpointId: number, cursor: string): number {
  const [, id, position] = /^(\d{1,9})\.(\d{1,15})$/.exec(cursor) ?? [];
  if (Number(id) !== endpointId) throw invalidCursor();
  return Number(position);
}

/**
 * Returns the publisher's only pull endpoint.
 * @throws AppError `endpoint_not_found`; `invalid_request` if there are several
 */
async function onlyEndpoint(pool: pg.Pool, publisherId: number): Promise<number> {
  const [id, ...others] = await pullEndpointIds(pool, publisherId);
  if (id === undefined) throw new AppError('endpoint_not_found', { message: problem('pullMissing') });
  if (others.length > 0)
    throw new AppError('invalid_request', { details: [{ path: '/endpoint', message: problem('pullEndpoint') }] });
  return id;
}
