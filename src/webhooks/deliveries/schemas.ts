import { Type } from '@sinclair/typebox';
import { publisherIdParameter } from '../../management/http.ts';
import { integerParameter, noNulNotBlank } from '../../platform/http/schemas.ts';
import { orNull, timingSchema } from '../endpoints/schemas.ts';
import type { EventTypes } from '../events.ts';
import { deliveryStatuses } from './filter.ts';

const dateTime = Type.String({ format: 'date-time' });
const timeText = (description: string) =>
  Type.String({
    pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2}))?$',
    description,
  });

const statusSchema = Type.Union(
  deliveryStatuses.map((status) => Type.Literal(status)),
  { title: 'DeliveryStatus' },
);

const filterFields = (events: EventTypes) => ({
  event: Type.Optional(Type.Union([...events.keys()].map((name) => Type.Literal(name)))),
  from: Type.Optional(
    timeText('Earliest creation time: a UTC day such as `2026-11-21`, or a time such as `2026-11-21T10:00:00Z`.'),
  ),
  to: Type.Optional(timeText('Latest creation time, exclusive.')),
  session_id: Type.Optional(Type.String({ maxLength: 36 })),
  pub_user_id: Type.Optional(Type.String({ maxLength: 256, pattern: noNulNotBlank })),
});

/** Rejects unknown properties, so that a filter with a misspelt property name does not match all deliveries. */
const strict = { additionalProperties: false };

export const listQuery = (events: EventTypes) =>
  Type.Object(
    {
      api_key: Type.Optional(Type.String({ description: 'API key with `configurations`.' })),
      ...filterFields(events),
      endpoint: integerParameter(
        { minimum: 1, maximum: 999_999_999 },
        { pattern: '^[1-9]\\d{0,8}$', description: 'ID of an endpoint, which may have been removed.' },
      ),
      status: Type.Optional(statusSchema),
      limit: integerParameter(
        { minimum: 1, maximum: 200 },
        { pattern: '^([1-9]\\d?|1\\d\\d|200)$', description: 'Deliveries per page, 1 to 200. Defaults to 50.' },
      ),
      cursor: Type.Optional(Type.String({ description: '`next_cursor` of the previous page.' })),
      publisher_id: publisherIdParameter,
    },
    strict,
  );

export const redeliveryBody = (events: EventTypes) =>
  Type.Object(
    {
      key: Type.Optional(Type.String({ description: 'API key, if it is neither in the query nor in a header.' })),
      api_key: Type.Optional(Type.String({ description: 'Same as `key`.' })),
      ...filterFields(events),
      endpoint: Type.Optional(Type.Integer({ minimum: 1, maximum: 999_999_999 })),
      status: Type.Array(statusSchema, {
        minItems: 1,
        maxItems: deliveryStatuses.length,
        uniqueItems: true,
        description: 'States of the deliveries to send again. For pending deliveries, the next attempt is made now.',
      }),
      dry_run: Type.Boolean({ default: false, description: 'Whether to count the deliveries without sending them.' }),
    },
    strict,
  );

const deliveryFields = {
  id: Type.String({ format: 'uuid' }),
  webhook_id: Type.String({ description: '`webhook-id` that every attempt has.' }),
  endpoint_id: Type.Integer(),
  event: Type.String(),
  status: statusSchema,
  session_id: orNull(Type.String()),
  pub_user_id: orNull(Type.String()),
  dev: Type.Boolean(),
  tries: Type.Integer({ description: 'Number of attempts since the delivery was created or last redelivered.' }),
  last_status: orNull(Type.Integer({ description: 'HTTP status of the latest response.' })),
  last_error: orNull(Type.String({ description: 'Error class of the latest attempt.' })),
  created_at: dateTime,
  finished_at: orNull(dateTime),
  next_try_at: orNull(dateTime),
  replayed_at: orNull(dateTime),
  erased_at: orNull(dateTime),
};

export const listAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    deliveries: Type.Array(Type.Object(deliveryFields, { title: 'Delivery' })),
    next_cursor: orNull(
      Type.String({
        description:
          '`cursor` of the next page, or `null` on the last page. A page can be short or empty and still have a next ' +
          'page.',
      }),
    ),
  }),
});

const dayText = (description: string) =>
  Type.Optional(Type.String({ maxLength: 10, pattern: '^[\\d-]*$', description }));

export const reconciliationQuery = Type.Object(
  {
    api_key: Type.Optional(Type.String({ description: 'API key with `configurations`.' })),
    from: dayText('First UTC day of creation, such as `2026-11-21`. Defaults to `to`, or else to six days ago.'),
    to: dayText('Last UTC day of creation. Defaults to today.'),
    publisher_id: publisherIdParameter,
  },
  strict,
);

const reconciliationFields = {
  created: Type.Integer({ description: 'Number of deliveries created in the period.' }),
  delivered: Type.Integer(),
  failed: Type.Integer(),
  held: Type.Integer(),
  pending: Type.Integer({ description: 'Number of deliveries that are queued or in flight.' }),
  balanced: Type.Boolean({ description: 'Whether created = delivered + failed + held + pending on every day.' }),
};

export const reconciliationAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    from: Type.String({ format: 'date' }),
    to: Type.String({ format: 'date' }),
    ...reconciliationFields,
    days: Type.Array(Type.Object({ day: Type.String({ format: 'date' }), ...reconciliationFields })),
  }),
});

const encodedBody = {
  body: orNull(Type.String()),
  body_encoding: Type.Union([Type.Literal('utf-8'), Type.Literal('base64')]),
  body_bytes: Type.Integer(),
};

const attemptSchema = Type.Object(
  {
    number: Type.Integer(),
    started_at: dateTime,
    finished_at: orNull(dateTime),
    outcome: orNull(
      Type.String({
        description:
          'Outcome: delivered, retry, failed or endpoint_disabled. `null` while the attempt is in flight, or if its ' +
          'worker crashed.',
      }),
    ),
    error: Type.Union([Type.Object({ class: Type.String(), message: Type.String() }), Type.Null()]),
    request: Type.Union([
      Type.Object({
        method: Type.String(),
        url: Type.String(),
        headers: Type.Record(Type.String(), Type.String(), {
          description: 'Request headers, without the values of your custom headers.',
        }),
        body_bytes: Type.Integer(),
        transformed_body: Type.Optional(
          Type.String({ description: 'First 16 KiB of the body, if a transformation made it.' }),
        ),
        body_sha256: Type.Optional(Type.String({ description: 'SHA-256 of the whole transformed body, in hex.' })),
      }),
      Type.Null(),
    ]),
    response: Type.Union([
      Type.Object({
        status: Type.Integer(),
        headers: Type.Record(Type.String(), Type.String()),
        ...encodedBody,
        truncated: Type.Boolean({ description: 'Whether the response exceeded the 16 KiB that are stored.' }),
      }),
      Type.Null(),
    ]),
    timing: timingSchema,
    remote_address: orNull(Type.String()),
    next_try_at: orNull(dateTime),
  },
  { title: 'Attempt' },
);

export const deliveryAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object(
    {
      ...deliveryFields,
      payload: orNull(
        Type.String({
          description:
            'Payload, byte for byte. Without a transformation, it is the signed body. `null` if it was erased.',
        }),
      ),
      payload_bytes: Type.Integer(),
      attempts: Type.Array(attemptSchema, { description: 'Latest 100 attempts, oldest first.' }),
    },
    { title: 'DeliveryDetails' },
  ),
});
