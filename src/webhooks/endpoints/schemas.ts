import { Type } from '@sinclair/typebox';
import type { Condition } from '../../catalog/conditions.ts';
import { warningSchema } from '../../management/answers.ts';
import type { EndpointRef } from '../endpoint-store.ts';
import { type EventTypes, requireEventType } from '../events.ts';

export const endpointsPath = '/manage/v1/webhook-endpoints';

export const orNull = <Schema extends ReturnType<typeof Type.String | typeof Type.Number | typeof Type.Integer>>(
  schema: Schema,
) => Type.Union([schema, Type.Null()]);

/** Path of one endpoint. */
export const endpointPath = `${endpointsPath}/:endpoint`;

export const endpointParams = Type.Object({
  endpoint: Type.String({ description: 'The id of an endpoint, or the event type of a default endpoint.' }),
});

/** Reads the endpoint reference in a path. @throws AppError `endpoint_not_found` */
export const readEndpointRef = (text: string, events: EventTypes): EndpointRef =>
  /^[1-9]\d{0,8}$/.test(text) ? Number(text) : requireEventType(events, text).name;

/** Unknown properties are refused, so that a misspelt setting is not ignored. */
const strict = { additionalProperties: false };

const urlSchema = Type.String({
  description:
    'https, at most 2,000 characters, no user name or password; its query is kept. ' +
    'Macros such as `{payout}` stand for fields of the payload and custom keys.',
});
const methodSchema = Type.Union([Type.Literal('POST'), Type.Literal('GET')]);

/** Maximum number of attempts of a delivery. */
export const maxSteps = 20;
/** Maximum sum of all waits, in seconds: 7 days. */
export const maxRetryS = 7 * 86_400;
/** Maximum time, in seconds, in which two secrets sign: 7 days. */
const maxOverlapS = 7 * 86_400;

const settingSchemas = {
  deadline_ms: Type.Integer({
    minimum: 1000,
    maximum: 30_000,
    description: 'For lookup, connect, TLS, head and body together.',
  }),
  retry_steps_s: Type.Array(Type.Integer({ minimum: 0, maximum: maxRetryS }), {
    minItems: 1,
    maxItems: maxSteps,
    description:
      'Waits before each attempt in seconds, the first 0; 7 days at most together. Each is drawn from ±20 %.',
  }),
  max_in_flight: Type.Integer({ minimum: 1, maximum: 100, description: 'Calls at once.' }),
  rate_limit_per_s: orNull(
    Type.Number({ minimum: 0.01, maximum: 10_000, description: 'Calls a second; null: no limit.' }),
  ),
  strict_order: Type.Boolean({
    description: 'One delivery at a time in the order of creation; a retry delays the rest.',
  }),
  signature_v1a: Type.Boolean({ description: 'Signs with ed25519 beside the HMAC.' }),
};

export const eventsSchema = Type.Array(Type.String(), {
  minItems: 1,
  maxItems: 50,
  description: 'Event types. That of a default endpoint is its event.',
});

const filterSchema = Type.Unsafe<Condition>(
  Type.Object(
    {},
    {
      title: 'Condition',
      additionalProperties: true,
      description:
        'Only events whose payload satisfies it: a condition of targeting, whose keys are paths into the payload, ' +
        'such as `{"key":"body.selected","op":"equals","value":1}`. At most 2,000 characters.',
    },
  ),
);

const settings = {
  description: Type.String({ maxLength: 200, description: 'What it is for.' }),
  filter: Type.Union([filterSchema, Type.Null()]),
};

const optionalFields = {
  ...Type.Partial(Type.Object(settings)).properties,
  headers: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()]), {
      description: 'Sent with each call, up to 20. Values are never shown again; null keeps the stored one.',
    }),
  ),
  deadline_ms: Type.Optional(settingSchemas.deadline_ms),
  retry_steps_s: Type.Optional(Type.Union([settingSchemas.retry_steps_s, Type.Null()])),
  max_in_flight: Type.Optional(settingSchemas.max_in_flight),
  rate_limit_per_s: Type.Optional(settingSchemas.rate_limit_per_s),
  strict_order: Type.Optional(settingSchemas.strict_order),
  signature_v1a: Type.Optional(settingSchemas.signature_v1a),
};

export const saveBody = Type.Object(
  {
    url: urlSchema,
    method: methodSchema,
    enabled: Type.Boolean({ default: true }),
    events: Type.Optional(eventsSchema),
    ...optionalFields,
  },
  {
    title: 'WebhookEndpointSettings',
    description: 'Settings that are left out stay as they are; those of a new endpoint are the defaults.',
    ...strict,
  },
);

export const createBody = Type.Object(
  {
    url: urlSchema,
    method: Type.Union(methodSchema.anyOf, { default: 'POST' }),
    enabled: Type.Boolean({ default: true }),
    events: eventsSchema,
    ...optionalFields,
  },
  { title: 'WebhookEndpointInput', description: 'Settings that are left out are the defaults.', ...strict },
);

export const patchBody = Type.Object(
  {
    url: Type.Optional(urlSchema),
    method: Type.Optional(methodSchema),
    enabled: Type.Optional(Type.Boolean()),
    events: Type.Optional(eventsSchema),
    ...optionalFields,
  },
  { title: 'WebhookEndpointChanges', description: 'Settings that are left out stay as they are.', ...strict },
);

/**
 * Accepts all settings of an endpoint, so that a test can send them as they would be saved. Settings that don't affect
 * a single call are ignored.
 */
export const testBody = Type.Partial(
  Type.Object({
    ...saveBody.properties,
    event: Type.String({ description: 'The event type to send; default: the first one that the endpoint gets.' }),
  }),
  strict,
);

export const resumeBody = Type.Object(
  {
    rate_per_s: Type.Optional(
      Type.Number({
        minimum: 0.01,
        maximum: 10_000,
        description: 'Deliveries a second until the backlog is delivered; default: no limit.',
      }),
    ),
  },
  strict,
);

export const rotateBody = Type.Object(
  {
    overlap_s: Type.Integer({
      minimum: 0,
      maximum: maxOverlapS,
      default: 86_400,
      description: 'How long the previous secret signs, too (seconds).',
    }),
  },
  strict,
);

const dateTime = Type.String({ format: 'date-time' });

const stateSchema = Type.Object(
  {
    status: Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('disabled')]),
    breaker: Type.Union([Type.Literal('closed'), Type.Literal('open')], {
      description: 'open: too many calls failed; deliveries wait.',
    }),
    breaker_open_until: orNull(dateTime),
    warning: orNull(
      Type.String({
        description:
          '`failing`: three calls in a row failed, or the breaker is open; after 5 days without a success ' +
          'the endpoint is disabled.',
      }),
    ),
    failing_since: orNull(dateTime),
    failures: Type.Integer({ description: 'Since the last success.' }),
    last_success_at: orNull(dateTime),
    pending: Type.Integer({ description: 'Pending deliveries, counted up to 10,000.' }),
    held: Type.Integer({ description: 'Held deliveries, counted up to 10,000.' }),
  },
  { title: 'WebhookEndpointState' },
);

const endpointView = Type.Object(
  {
    id: Type.Integer(),
    event: orNull(Type.String({ description: 'Of a default endpoint: the event type that it is for.' })),
    events: Type.Array(Type.String(), { description: 'The event types that it gets.' }),
    ...settings,
    url: Type.String(),
    method: methodSchema,
    enabled: Type.Boolean(),
    disabled_reason: orNull(
      Type.String({
        description:
          '`gone`: the receiver answered 410; `asked`: it answered `webhook-delivery: disable`; ' +
          '`failing`: only failures for five days.',
      }),
    ),
    paused_at: orNull(dateTime),
    resume_rate_per_s: orNull(Type.Number()),
    headers: Type.Record(Type.String(), Type.Null(), { description: 'Names only; values are never shown.' }),
    ...settingSchemas,
    v1a_public_key: orNull(Type.String({ description: '`whpk_…`, which verifies the ed25519 signature.' })),
    previous_secret_until: orNull(
      Type.String({ format: 'date-time', description: 'How long the previous secret signs, too.' }),
    ),
    created_at: dateTime,
    updated_at: dateTime,
    state: Type.Optional(stateSchema),
    secret: Type.Optional(
      Type.String({
        description: '`whsec_…`, which verifies the signature. Only in the answer that creates or rotates it.',
      }),
    ),
  },
  { title: 'WebhookEndpoint' },
);
export const endpointAnswer = Type.Object(
  { message: Type.String(), data: endpointView, warnings: Type.Optional(warningSchema) },
  { title: 'WebhookEndpointAnswer' },
);
export const endpointList = Type.Object({ message: Type.String(), data: Type.Array(endpointView) });
export const removedAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({ id: Type.Integer(), event: orNull(Type.String()), removed: Type.Boolean() }),
});

export const timingSchema = Type.Union([
  Type.Object(
    {
      dns_ms: orNull(Type.Number()),
      connect_ms: orNull(Type.Number({ description: 'TCP; null on a reused connection.' })),
      tls_ms: orNull(Type.Number()),
      first_byte_ms: orNull(Type.Number()),
      total_ms: Type.Number(),
    },
    { title: 'Timing' },
  ),
  Type.Null(),
]);

export const testAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    delivered: Type.Boolean(),
    status: orNull(Type.Number()),
    error: Type.Union([Type.Object({ class: Type.String(), message: Type.String() }), Type.Null()]),
    timing: timingSchema,
    headers: Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()]),
    body: orNull(Type.String({ description: 'The first 4 KiB.' })),
  }),
});
