import { Type } from '@sinclair/typebox';
import { remoteErrorClasses } from '../dispatcher/send/result.ts';
import { eventsSchema, orNull } from '../endpoints/schemas.ts';

const strict = { additionalProperties: false };

/**
 * Maximum number of characters that are stored of a response header value. The next constant limits the number of
 * stored response headers.
 */
export const maxHeaderLength = 4096;
export const maxHeaders = 100;

export const listenerParams = Type.Object({ listener: Type.String({ pattern: '^[1-9]\\d{0,8}$' }) });

export const listenerBody = Type.Object(
  {
    forward_url: Type.String({
      maxLength: 2000,
      description:
        'URL that `perkwire listen` forwards deliveries to, such as `http://localhost:3000/hook`. For display ' +
        'only.',
    }),
    events: Type.Optional(eventsSchema),
    description: Type.String({ maxLength: 200, default: 'perkwire listen' }),
  },
  { description: 'Without `events`, the listener gets all event types except `audit.recorded`.', ...strict },
);

export const answerBody = Type.Object(
  {
    delivery_id: Type.String({ maxLength: 36 }),
    attempt: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description: 'Attempt ID from the stream.' }),
    took_ms: Type.Number({ minimum: 0, maximum: 600_000 }),
    status: Type.Optional(Type.Integer({ minimum: 100, maximum: 599 })),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
    body_base64: Type.Optional(Type.String({ maxLength: 24_000, description: 'First 16 KiB of the response body.' })),
    truncated: Type.Boolean({ default: false }),
    error: Type.Optional(
      Type.Object({
        class: Type.Union(remoteErrorClasses.map((name) => Type.Literal(name))),
        message: Type.String({ maxLength: 500 }),
      }),
    ),
  },
  { description: 'Either the `status` of the response, or the `error` if there was no response.', ...strict },
);

export const answeredAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    delivery_id: Type.String(),
    outcome: Type.String({ description: 'Outcome: delivered, retry, failed or endpoint_disabled.' }),
    retry_in_ms: orNull(Type.Integer()),
  }),
});

export const triggerBody = Type.Object(
  {
    event: Type.String({ description: 'Event type to send.' }),
    endpoint: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 999_999_999, description: 'ID of the endpoint. Defaults to all listeners.' }),
    ),
  },
  strict,
);

export const triggerAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    event: Type.String(),
    deliveries: Type.Array(Type.Object({ id: Type.String(), webhook_id: Type.String() })),
  }),
});
