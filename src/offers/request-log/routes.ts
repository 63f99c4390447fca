import { type Static, Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../accounts/caller.ts';
import { normaliseName } from '../../catalog/names.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import { callOf, publisherIdParameter } from '../../management/http.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { createEventStreams, type StreamEvent } from '../../platform/http/event-streams.ts';
import { errorAnswers, integerParameter } from '../../platform/http/schemas.ts';
import type { Logger } from '../../platform/logger.ts';
import { readProblem } from '../../platform/problem.ts';
import type { RequestLog } from './request-log.ts';
import { isFetch, type LiveCall, type LoggedCall } from './store.ts';

const query = Type.Object({
  publisher_id: publisherIdParameter,
  status: Type.Optional(
    Type.String({
      pattern: '^[1-5]([0-9]{2}|xx)$',
      description: 'Returns only calls with this status, such as `404` or `4xx`.',
    }),
  ),
  placement: Type.Optional(Type.String({ maxLength: 200, description: 'Returns only fetches for this placement.' })),
  last: integerParameter(
    { minimum: 0, maximum: 200 },
    {
      pattern: '^(1?[0-9]{1,2}|200)$',
      description: 'Number of earlier calls that are sent first, up to 200. Defaults to 10.',
    },
  ),
});
type Query = Static<typeof query>;

const schema = {
  operationId: 'streamLiveCalls',
  summary: 'Stream live calls',
  description:
    'Sends each call as an event `call`, with masked values. Calls are recorded while someone watches. The ' +
    'stream starts with calls of the last minute and rejected calls of the last hour. Reconnect when it ends.',
  tags: ['Decisions'],
  querystring: query,
  response: {
    200: { description: 'Stream of events.', content: { 'text/event-stream': { schema: Type.String() } } },
    ...errorAnswers(400, 401, 403, 404, 429),
  },
};

/** Dependencies for streaming calls. `checkKey` reports whether the caller's key is still valid. */
type StreamDeps = {
  requestLog: RequestLog;
  now: () => number;
  auth: Authenticator<Caller>;
  catalog: CatalogStore;
  checkKey: (request: FastifyRequest) => () => boolean;
  logger: Logger;
};

/** Registers the route that streams a publisher's calls (docs/reference/debugging.md#live-calls). */
export async function liveCallRoutes(app: App, { requestLog, now, auth, catalog, checkKey, logger }: StreamDeps) {
  const streams = createEventStreams(logger);
  app.addHook('preClose', async () => streams.close());
  const hooks = { preValidation: auth.requireKey('configurations', 'accounts') };
  app.get<{ Querystring: Query }>('/manage/v1/live-calls/stream', { schema, ...hooks }, (request, reply) => {
    const { publisherId } = callOf(request);
    const defaultPlacement = () => catalog.current().publishers.get(publisherId)?.defaultPlacement ?? null;
    const newCalls = requestLog.watch(publisherId);
    const isAllowed = checkKey(request);
    const openedMs = now();
    let last: number | null = Number(request.query.last ?? 10);
    streams.open(reply, {
      owner: `publisher ${publisherId}`,
      publisherId,
      isAllowed,
      next: async () => {
        const calls = (await newCalls()).map((logged) => ({
          ...logged,
          placements: placementsOf(logged.call, defaultPlacement()),
        }));
        const matching = calls.filter(({ call, placements }) => isRequested(request.query, call, placements));
        const earlier = matching.filter(({ at }) => at.getTime() < openedMs).length;
        const skipped = last === null ? 0 : Math.max(0, earlier - last);
        last = null;
        return matching.slice(skipped).map(eventOf);
      },
    });
    return reply;
  });
}

/** Returns the placements that a call requested offers for. A fetch without a placement uses the default placement. */
function placementsOf(call: LiveCall, defaultPlacement: string | null): string[] {
  const fields = { ...asObject(call.query), ...asObject(call.body) };
  const listed = Array.isArray(fields.placements) ? fields.placements.map((item) => asObject(item).name) : [];
  const placementNames = [fields.placement, ...listed].filter((name) => typeof name === 'string' && name !== '');
  if (placementNames.length > 0) return placementNames.map((name) => normaliseName(name as string));
  return defaultPlacement !== null && isFetch(call) ? [defaultPlacement] : [];
}

const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

function isRequested({ status, placement }: Query, call: LiveCall, placements: readonly string[]): boolean {
  if (status !== undefined && status !== String(call.status) && status !== `${Math.floor(call.status / 100)}xx`)
    return false;
  return placement === undefined || placements.includes(normaliseName(placement));
}

function eventOf({ id, at, placements, call }: LoggedCall & { placements: readonly string[] }): StreamEvent {
  const { sessionId, error: refusal, ...rest } = call;
  const inEnglish = <Stored extends { message: string }>(stored: Stored) => ({
    ...stored,
    message: readProblem(stored.message),
  });
  const notes = call.notes.map(inEnglish);
  const error = refusal && {
    ...inEnglish(refusal),
    ...(refusal.details !== undefined && { details: refusal.details.map(inEnglish) }),
  };
  return {
    name: 'call',
    data: JSON.stringify({ id, at: at.toISOString(), placements, session_id: sessionId, ...rest, error, notes }),
  };
}
