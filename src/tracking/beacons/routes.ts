import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { eventKinds, kindsWith, ownEventPath, type TrackedKind } from '../../catalog/event-kinds.ts';
import type { App } from '../../platform/http/app.ts';
import type { FailureLimit } from '../../platform/http/failure-limit.ts';
import { type HotRoutes, hotAnswer, unvalidated } from '../../platform/http/hot-routes.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { Recorder } from '../recorder.ts';
import type { VerifyToken } from '../verify-token.ts';

/** Transparent 1×1 image. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=',
  'base64',
);

/** Headers for every tracking response. They allow any page to load it and forbid caches to store it. */
export const trackingHeaders = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-allow-origin': '*',
};
const imageHeaders = { 'content-type': 'image/png', ...trackingHeaders };

export const sendImage = (reply: FastifyReply): FastifyReply => reply.headers(imageHeaders).send(png);

/** Response to a valid beacon request. */
const image = hotAnswer(200, imageHeaders, png);
/** Response to a request whose token is invalid, expired or foreign. */
const badTokenImage = hotAnswer(400, imageHeaders, png);

/**
 * Responds to an invalid token: with the image and status 400, or with 429 after too many failures from the same client
 * address.
 */
export function refuseToken(failures: FailureLimit, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const limited = failures.charge(request.ip);
  if (limited !== null) throw limited;
  return sendImage(reply.code(400));
}

/** Describes an image response for the API reference. */
export const imageAnswer = (description: string) => ({
  description,
  content: { 'image/png': { schema: Type.String({ format: 'binary' }) } },
});

export const badTokenAnswer = imageAnswer(
  'The token is invalid, expired or unknown. Returns the same image and records nothing.',
);

export const tokenParameter = Type.String({ description: 'Signed token of the offer in its session.' });

type BeaconDeps = { failures: FailureLimit; verify: VerifyToken; recorder: Recorder };

const schema = {
  tags: ['Tracking'],
  security: [],
  querystring: Type.Object({
    t: Type.Optional(tokenParameter),
    cbuster: Type.Optional(Type.String({ description: 'Any value, to bypass caches.' })),
  }),
  response: {
    200: imageAnswer('The event is recorded, now or by an earlier call.'),
    400: badTokenAnswer,
    ...errorAnswers(405),
  },
};

const description = 'Returns an image after the event has been stored. Repeated events count once.';

const ownSchema = {
  ...schema,
  operationId: 'recordOwnEvent',
  summary: 'Record an own event',
  description:
    `${description} The name must be an own event of the publisher or of the offer's advertiser; otherwise the ` +
    'token is invalid.',
  querystring: Type.Object({
    ...schema.querystring.properties,
    name: Type.Optional(Type.String({ description: 'Name of the own event.' })),
  }),
};

/**
 * Registers the routes for image beacons, which receive the most requests
 * (docs/reference/tracking-and-conversions.md#tracking-urls).
 */
export function addBeaconRoutes(scope: App, hot: HotRoutes, { failures, verify, recorder }: BeaconDeps): void {
  const serve = hot(scope);
  const addRoute = (kind: TrackedKind, path: string, described: object): void => {
    const handler = serve(path, async (request) => {
      const { t, name } = request.query as { t?: unknown; name?: unknown };
      const verified = verify(request, t, kind, name);
      const tracked = verified instanceof Promise ? await verified : verified;
      if (tracked === null) {
        const limited = failures.charge(request.ip);
        if (limited !== null) throw limited;
        return badTokenImage;
      }
      if (tracked.recorded) await recorder.beacon(tracked.event, tracked.offer.campaign);
      return image;
    });
    scope.get(path, { schema: described, ...unvalidated }, handler);
  };
  for (const kind of kindsWith('beacon')) {
    const { path, operationId, summary } = eventKinds[kind].beacon;
    addRoute(kind, path, { ...schema, operationId, summary, description });
  }
  addRoute('own', ownEventPath, ownSchema);
}
