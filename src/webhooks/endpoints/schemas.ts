import { Type } from '@sinclair/typebox';
import type { Condition } from '../../catalog/conditions.ts';
import { warningSchema } from '../../management/answers.ts';
import { destinationKinds } from '../destinations/kinds.ts';
import { secretNames } from '../destinations/settings.ts';
import type { EndpointRef } from '../endpoint-store.ts';
import { type EventTypes, requireEventType } from '../events.ts';
import { maxExpressionLength } from '../transformations/transform.ts';

export const endpointsPath = '/manage/v1/webhook-endpoints';

export const orNull = <Schema extends ReturnType<typeof Type.String | typeof Type.Number | typeof Type.Integer>>(
  schema: Schema,
) => Type.Union([schema, Type.Null()]);

/** Route path of a single endpoint. */
export const endpointPath = `${endpointsPath}/:endpoint`;

export const endpointParams = Type.Object({
  endpoint: Type.String({ description: 'ID of an endpoint, or the event type of a default endpoint.' }),
});

/**
 * Parses the endpoint reference in a path.
 * @throws AppError `endpoint_not_found`
 */
export const readEndpointRef = (text: string, events: EventTypes): EndpointRef =>
  /^[1-9]\d{0,8}$/.test(text) ? Number(text) : requireEventType(events, text).name;

/** Rejects unknown properties, so that a misspelt setting is not silently ignored. */
const strict = { additionalProperties: false };

const urlSchema = Type.String({
  description:
    'Endpoint URL: https, at most 2,000 characters, without user name or password. Macros such as `{payout}` are ' +
    'replaced with fields of the payload or custom attributes.',
});
const methodSchema = Type.Union([Type.Literal('POST'), Type.Literal('GET')]);

/** Maximum number of attempts per delivery. */
export const maxSteps = 20;
/** Maximum sum of all retry delays, in seconds (7 days). */
export const maxRetryS = 7 * 86_400;
/** Maximum time for which calls are signed with two secrets during a rotation, in seconds (7 days). */
const maxOverlapS = 7 * 86_400;

const settingSchemas = {
  deadline_ms: Type.Integer({
    minimum: 1000,
    maximum: 30_000,
    description: 'Timeout of an attempt in milliseconds, including DNS lookup, connect, TLS, headers and body.',
  }),
  retry_steps_s: Type.Array(Type.Integer({ minimum: 0, maximum: maxRetryS }), {
    minItems: 1,
    maxItems: maxSteps,
    description:
      'Delays before each attempt in seconds. The first is 0, and their sum is at most 7 days. Each delay varies ' +
      'randomly by ±20%.',
  }),
  max_in_flight: Type.Integer({ minimum: 1, maximum: 100, description: 'Maximum number of concurrent calls.' }),
  rate_limit_per_s: orNull(
    Type.Number({
      minimum: 0.01,
      maximum: 10_000,
      description: 'Maximum number of calls per second. `null` means no limit.',
    }),
  ),
  strict_order: Type.Boolean({
    description:
      'Whether deliveries are sent one at a time in the order of creation. A retry then delays all later ' +
      'deliveries.',
  }),
  signature_v1a: Type.Boolean({ description: 'Whether to sign with ed25519 in addition to HMAC.' }),
};

export const eventsSchema = Type.Array(Type.String(), {
  minItems: 1,
  maxItems: 50,
  description: 'Event types to send. A default endpoint gets only its own event type.',
});

const filterSchema = Type.Unsafe<Condition>(
  Type.Object(
    {},
    {
      title: 'Condition',
      additionalProperties: true,
      description:
        'Filter on the payload, in the format of targeting conditions. Keys are paths in the payload, such as ' +
        '`{"key":"body.selected","op":"equals","value":1}`. At most 2,000 characters.',
    },
  ),
);

const expression = (part: string) =>
  Type.Optional(Type.String({ maxLength: maxExpressionLength, pattern: '\\S', description: part }));

export const transformationSchema = Type.Object(
  {
    body: expression('JSONata expression whose result is sent instead of the payload. Requires the method `POST`.'),
    headers: expression('JSONata expression that returns an object of additional headers.'),
  },
  {
    title: 'Transformation',
    minProperties: 1,
    description: 'Expressions that change the body and headers of each call. The signature covers the changed body.',
    ...strict,
  },
);

const settings = {
  description: Type.String({ maxLength: 200, description: 'Purpose of the endpoint.' }),
  filter: Type.Union([filterSchema, Type.Null()]),
  transformation: Type.Union([transformationSchema, Type.Null()]),
};

const secretSchema = (description: string) => Type.Optional(orNull(Type.String({ description })));
const settingSchema = (description: string) => Type.Optional(Type.String({ maxLength: 1000, description }));

/** Settings of all kinds of destinations. Each kind uses only some of them (destinations/settings.ts). */
const destinationSettings = {
  address: settingSchema('`nats`: host and port of the server, such as `nats.example.com:4222`.'),
  subject: settingSchema('`nats`: subject of a JetStream stream.'),
  brokers: settingSchema(
    '`kafka`: hosts and ports of up to 10 bootstrap servers, separated by commas, such as ' +
      '`kafka-1.example.com:9092,kafka-2.example.com:9092`.',
  ),
  topic: settingSchema('`kafka`: name of an existing topic.'),
  tls: Type.Optional(Type.Boolean({ description: '`nats`, `kafka`: whether to require TLS. Defaults to `true`.' })),
  user: settingSchema('`nats`, `kafka`: user name.'),
  mechanism: settingSchema(
    '`kafka`: SASL mechanism of the user, `PLAIN` (the default), `SCRAM-SHA-256` or `SCRAM-SHA-512`.',
  ),
  message_key: settingSchema(
    '`kafka`: key of the messages. `session` (the default) keeps the messages of a session in one partition, and ' +
      '`publisher` keeps all messages in one partition. With strict order, `session` also uses one partition.',
  ),
  client_id: settingSchema('`kafka`: client ID. Defaults to `perkwire`.'),
  queue_url: settingSchema('`sqs`: URL of the queue. If it ends in `.fifo`, messages stay in order.'),
  bus: settingSchema('`eventbridge`: name of the event bus.'),
  bucket: settingSchema('`s3`: name of the bucket.'),
  prefix: settingSchema('`s3`: prefix of the object keys.'),
  region: settingSchema('`sqs`, `eventbridge`, `s3`: region, such as `eu-central-1`.'),
  service_url: settingSchema('`eventbridge`, `s3`: URL of an AWS-compatible service. Defaults to AWS.'),
  access_key_id: settingSchema('`sqs`, `eventbridge`, `s3`: access key ID.'),
};

const destinationSchema = Type.Object(
  {
    kind: Type.Union([Type.Literal('http'), ...destinationKinds.map((kind) => Type.Literal(kind))], {
      description: 'Kind of destination. You cannot change it later.',
    }),
    ...destinationSettings,
    password: secretSchema('`nats`, `kafka`: password of the user.'),
    token: secretSchema('`nats`: authentication token.'),
    credentials: secretSchema('`nats`: contents of a credentials file.'),
    secret_access_key: secretSchema('`sqs`, `eventbridge`, `s3`: secret access key.'),
  },
  {
    title: 'WebhookDestinationInput',
    description:
      'Destination of the events, instead of `url`. Secrets are never returned. Omitted secrets keep their stored ' +
      'values, unless the server or the user changes.',
    ...strict,
  },
);

const destinationView = Type.Object(
  {
    kind: destinationSchema.properties.kind,
    ...destinationSettings,
    ...Object.fromEntries(
      secretNames.map((name) => [name, Type.Optional(Type.Null({ description: 'Set, but not returned.' }))]),
    ),
  },
  { title: 'WebhookDestination', description: 'Destination of the events. For `http`, this is the `url`.' },
);

const optionalFields = {
  ...Type.Partial(Type.Object(settings)).properties,
  headers: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()]), {
      description: 'Custom headers of each call, up to 20. Values are not returned. `null` keeps a stored value.',
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
    description: 'Omitted settings stay unchanged. For a new endpoint, they get their default values.',
    ...strict,
  },
);

export const createBody = Type.Object(
  {
    url: Type.Optional(urlSchema),
    destination: Type.Optional(destinationSchema),
    method: Type.Union(methodSchema.anyOf, { default: 'POST' }),
    enabled: Type.Boolean({ default: true }),
    events: eventsSchema,
    ...optionalFields,
  },
  { title: 'WebhookEndpointInput', description: 'Omitted settings get their default values.', ...strict },
);

export const patchBody = Type.Object(
  {
    url: Type.Optional(urlSchema),
    destination: Type.Optional(destinationSchema),
    method: Type.Optional(methodSchema),
    enabled: Type.Optional(Type.Boolean()),
    events: Type.Optional(eventsSchema),
    ...optionalFields,
  },
  { title: 'WebhookEndpointChanges', description: 'Omitted settings stay unchanged.', ...strict },
);

/**
 * Body of a test request. It accepts all endpoint settings, so that clients can test settings exactly as they would
 * save them. Settings that do not affect a single call are ignored.
 */
export const testBody = Type.Partial(
  Type.Object({
    ...saveBody.properties,
    destination: destinationSchema,
    event: Type.String({ description: 'Event type to send. Defaults to the first event type of the endpoint.' }),
  }),
  strict,
);

export const resumeBody = Type.Object(
  {
    rate_per_s: Type.Optional(
      Type.Number({
        minimum: 0.01,
        maximum: 10_000,
        description: 'Maximum deliveries per second until the backlog is delivered. Defaults to no limit.',
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
      description: 'Time in seconds for which the previous secret also signs.',
    }),
  },
  strict,
);

const dateTime = Type.String({ format: 'date-time' });

const stateSchema = Type.Object(
  {
    status: Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('disabled')]),
    breaker: Type.Union([Type.Literal('closed'), Type.Literal('open')], {
      description: 'State of the circuit breaker. `open`: too many calls failed, and deliveries wait.',
    }),
    breaker_open_until: orNull(dateTime),
    warning: orNull(
      Type.String({
        description:
          '`failing`: three consecutive calls failed, or the circuit breaker is open. After 5 days without a ' +
          'success, the endpoint is disabled.',
      }),
    ),
    failing_since: orNull(dateTime),
    failures: Type.Integer({ description: 'Number of failed calls since the last success.' }),
    last_success_at: orNull(dateTime),
    last_failure: Type.Union(
      [
        Type.Object(
          {
            delivery_id: Type.String({ format: 'uuid' }),
            at: dateTime,
            status: orNull(Type.Integer({ description: 'HTTP status, or `null` without a response.' })),
            error: Type.Union([Type.Object({ class: Type.String(), message: Type.String() }), Type.Null()]),
            first_line: orNull(
              Type.String({ description: 'First line of the response body, without markup and credentials.' }),
            ),
          },
          { title: 'WebhookEndpointFailure' },
        ),
        Type.Null(),
      ],
      { description: 'Last failed attempt. `null` if the last call succeeded or the attempt is no longer stored.' },
    ),
    transformation_failure: Type.Union(
      [
        Type.Object(
          {
            since: dateTime,
            delivery_id: orNull(Type.String({ format: 'uuid' })),
            message: orNull(Type.String()),
          },
          { title: 'TransformationFailure' },
        ),
        Type.Null(),
      ],
      { description: 'Failure of the transformation, or `null` if it last succeeded. Nothing is sent while it fails.' },
    ),
    pending: Type.Integer({ description: 'Number of pending deliveries, counted up to 10,000.' }),
    held: Type.Integer({ description: 'Number of held deliveries, counted up to 10,000.' }),
  },
  { title: 'WebhookEndpointState' },
);

const endpointView = Type.Object(
  {
    id: Type.Integer(),
    event: orNull(Type.String({ description: 'Event type of a default endpoint.' })),
    events: Type.Array(Type.String(), { description: 'Event types that the endpoint gets.' }),
    ...settings,
    url: Type.String({ description: 'URL, or the address of a destination of another kind.' }),
    destination: destinationView,
    method: methodSchema,
    enabled: Type.Boolean(),
    disabled_reason: orNull(
      Type.String({
        description:
          'Why the endpoint was disabled. `gone`: it responded with 410. `asked`: it responded with ' +
          '`webhook-delivery: disable`. `failing`: all calls failed for five days.',
      }),
    ),
    paused_at: orNull(dateTime),
    resume_rate_per_s: orNull(Type.Number()),
    headers: Type.Record(Type.String(), Type.Null(), {
      description: 'Names of the custom headers. Values are not returned.',
    }),
    ...settingSchemas,
    v1a_public_key: orNull(Type.String({ description: 'Public key (`whpk_…`) that verifies the ed25519 signature.' })),
    previous_secret_until: orNull(
      Type.String({ format: 'date-time', description: 'Time until which the previous secret also signs.' }),
    ),
    created_at: dateTime,
    updated_at: dateTime,
    state: Type.Optional(stateSchema),
    secret: Type.Optional(
      Type.String({
        description: 'Secret (`whsec_…`) that verifies the signature. Only in the response that creates or rotates it.',
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
      connect_ms: orNull(
        Type.Number({ description: 'Time to connect (TCP) in milliseconds, or `null` on a reused connection.' }),
      ),
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
    body: orNull(Type.String({ description: 'First 4 KiB of the response body.' })),
  }),
});
