import { Type } from '@sinclair/typebox';
import { publisherIdParameter } from '../../management/http.ts';
import { integerParameter } from '../../platform/http/schemas.ts';
import { maxPulled } from './events.ts';

/** Maximum time for which a call waits for events, in seconds. */
const maxWaitS = 30;

export const pullQuery = Type.Object(
  {
    api_key: Type.Optional(Type.String({ description: 'API key with the permission `events`.' })),
    endpoint: integerParameter(
      { minimum: 1, maximum: 999_999_999 },
      { pattern: '^[1-9]\\d{0,8}$', description: 'ID of the endpoint. Optional if you have only one pull endpoint.' },
    ),
    after: Type.Optional(
      Type.String({
        maxLength: 40,
        description:
          'Cursor of the last event that you processed. Acknowledges this event and all earlier ones. If omitted, ' +
          'the call acknowledges nothing.',
      }),
    ),
    limit: integerParameter(
      { minimum: 1, maximum: maxPulled },
      { pattern: '^([1-9]\\d?|[1-4]\\d\\d|500)$', description: 'Events per call, 1 to 500. Defaults to 100.' },
    ),
    wait: integerParameter(
      { minimum: 0, maximum: maxWaitS },
      {
        pattern: '^([12]?\\d|30)$',
        description: 'How many seconds to wait for the next event, up to 30. Defaults to 0.',
      },
    ),
    publisher_id: publisherIdParameter,
  },
  { additionalProperties: false },
);

const event = Type.Object(
  {
    cursor: Type.String({ description: 'Pass it as `after` to acknowledge this event and all earlier ones.' }),
    delivery_id: Type.String({ format: 'uuid' }),
    webhook_id: Type.String(),
    event: Type.String({ description: 'Event type.' }),
    headers: Type.Record(Type.String(), Type.String(), {
      description: 'Headers of the webhook. The signature covers the bytes of `body`.',
    }),
    body: Type.String({ description: 'Payload as JSON text, exactly as it was signed.' }),
  },
  { title: 'PulledEvent' },
);

export const pullAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    endpoint_id: Type.Integer(),
    events: Type.Array(event),
    cursor: Type.Union([Type.String(), Type.Null()], {
      description: 'Cursor for the next call. `null` until the first event has been returned.',
    }),
    acknowledged: Type.Integer({ description: 'Number of events that this call acknowledged.' }),
  }),
});
