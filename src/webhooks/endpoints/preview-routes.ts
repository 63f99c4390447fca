import { Type } from '@sinclair/typebox';
import { calledPublisher } from '../../accounts/caller.ts';
import { publisherQuery } from '../../management/http.ts';
import { strictBody } from '../../management/strict-body.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { findEndpoint } from '../endpoint-store.ts';
import type { TransformationFailure } from '../transformations/evaluators.ts';
import { type PreviewDeps, previewTransformation } from '../transformations/preview.ts';
import { endpointParams, endpointPath, orNull, readEndpointRef, transformationSchema } from './schemas.ts';

const previewBody = Type.Object(
  {
    transformation: Type.Optional(Type.Union([transformationSchema, Type.Null()])),
    delivery_id: Type.Optional(
      Type.String({ maxLength: 40, description: 'ID or webhook ID of a stored delivery to apply it to.' }),
    ),
    event: Type.Optional(
      Type.String({ description: 'Event type whose sample is used. Defaults to the first one of the endpoint.' }),
    ),
  },
  { description: 'Without `transformation`, the saved one is used.', additionalProperties: false },
);

const failureSchema = Type.Object(
  {
    reason: Type.String({
      description: '`expression`: an error in an expression. `time` or `memory`: a limit was exceeded.',
    }),
    part: orNull(Type.String({ description: '`body` or `headers`.' })),
    message: Type.String(),
    position: orNull(Type.Integer({ description: 'Position of the error in the expression, in characters.' })),
  },
  { title: 'TransformationError' },
);

const previewAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object(
    {
      event: Type.String(),
      payload: Type.String({ description: 'Payload before the transformation.' }),
      body: orNull(Type.String({ description: 'Body to be sent, byte for byte. `null` after an error.' })),
      body_bytes: Type.Integer(),
      headers: Type.Record(Type.String(), Type.String(), {
        description: 'Headers that the transformation sets, including `content-type`.',
      }),
      error: Type.Union([failureSchema, Type.Null()]),
    },
    { title: 'TransformationPreview' },
  ),
});

/** Registers the route that applies a transformation to an event without sending it. */
export async function endpointPreviewRoutes(app: App, deps: PreviewDeps & { dbHealth: DatabaseHealth }): Promise<void> {
  const { pool, events } = deps;
  const failFast = createFailFast(deps.dbHealth);
  app.post(
    `${endpointPath}/transformation/preview`,
    {
      schema: {
        operationId: 'previewTransformation',
        summary: 'Preview a transformation',
        description: 'Applies a transformation to a stored delivery or a sample event. Nothing is sent or stored.',
        tags: ['Webhook endpoints'],
        params: endpointParams,
        querystring: publisherQuery,
        body: previewBody,
        response: { 200: previewAnswer, ...errorAnswers(400, 401, 403, 404, 409) },
      },
      ...strictBody,
    },
    async (request) => {
      const publisher = calledPublisher(request);
      const ref = readEndpointRef(request.params.endpoint, events);
      const saved = await failFast(() => findEndpoint(pool, publisher.id, ref));
      if (saved === null && typeof ref === 'number') throw new AppError('endpoint_not_found');
      const { transformation = saved?.transformation ?? null, delivery_id: deliveryId, event } = request.body;
      const source = deliveryId === undefined ? { event: event ?? saved?.events[0] ?? String(ref) } : { deliveryId };
      const preview = await failFast(() => previewTransformation(deps, publisher, transformation, source));
      const { payload, body, bodyBytes, headers, failure } = preview;
      const data = { event: preview.event, payload, body, body_bytes: bodyBytes, headers, error: viewOf(failure) };
      return { message: failure === null ? 'Transformation applied.' : 'The transformation failed.', data };
    },
  );
}

const viewOf = (failure: TransformationFailure | null) =>
  failure && {
    reason: failure.reason,
    part: failure.part,
    message: failure.message,
    position: failure.position,
  };
