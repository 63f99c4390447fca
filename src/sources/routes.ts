import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { readEverywhere } from '../catalog/store.ts';
import { callOf, type ManagementHttp, publisherQuery, requirePermission } from '../management/http.ts';
import { strictBody } from '../management/strict-body.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { findFirstRow, readJsonInSlices } from '../platform/http/json-slices.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import { problem } from '../platform/problem.ts';
import type { UserKeys } from '../platform/security/user-key.ts';
import { listEvents, type SourceEvent } from './events.ts';
import { receiveEvents } from './receive.ts';
import { readSource, type Source, saveSource, sourceInput, sourceSettings } from './settings.ts';

const path = '/manage/v1/sources/segment';
const tags = ['Sources'];

/** Limits: batch size in bytes, number of events per batch, and size of an event in bytes. */
const maxBytes = 4 * 1024 * 1024;
const maxEvents = 1000;
const bodyLimits = { rows: maxEvents, rowBytes: () => 64 * 1024, otherwise: problem('sendSeveralCalls') };

const sourceView = Type.Object(
  { ...sourceSettings.properties, has_secret: Type.Boolean({ description: 'Whether calls must be signed.' }) },
  { title: 'Source' },
);
const sourceAnswer = Type.Object({ message: Type.String(), data: sourceView }, { title: 'SourceAnswer' });

const count = (description: string) => Type.Integer({ description });
const noteFields = {
  path: Type.String({ description: 'JSON pointer to the value in the event. Empty for the whole event.' }),
  reason: Type.String({
    description:
      'Reason: a refusal (`no_user`), the result of an effect (`invalid`), or an ignored value ' +
      '(`unreadable_time`, `future_time`, `unknown_currency`, `no_value`, `not_boolean`).',
  }),
};
const problemSchema = Type.Object(
  {
    index: Type.Integer({ description: 'Index of the event in the call, starting at 0.' }),
    message_id: Type.Union([Type.String(), Type.Null()]),
    ...noteFields,
  },
  { title: 'EventProblem' },
);
const receivedAnswer = Type.Object(
  {
    message: Type.String(),
    data: Type.Object({
      received: count('Number of events in the call.'),
      duplicates: count('Number of events that were received before, with the same `messageId`.'),
      applied: count('Number of events that were applied completely.'),
      partly: count('Number of events that were applied in part.'),
      ignored: count('Number of events that the settings do not use.'),
      superseded: count('Number of events that are older than stored data.'),
      refused: count('Number of events that were refused.'),
      problems: Type.Array(problemSchema, {
        description: 'First 100 problems of new events, with their reasons.',
      }),
    }),
  },
  { title: 'EventsReceivedAnswer' },
);
const eventsAnswer = Type.Object(
  {
    message: Type.String(),
    data: Type.Array(
      Type.Object(
        {
          message_id: Type.String(),
          received_at: Type.String({ format: 'date-time' }),
          sent_at: Type.String({ format: 'date-time', description: 'Time in the event.' }),
          type: Type.String(),
          name: Type.String({ description: 'Name of the track call, or of the audience.' }),
          result: Type.String({ description: 'Result: applied, partly, ignored, superseded or refused.' }),
          refusal: Type.Union([Type.String(), Type.Null()], {
            description:
              'Reason for a refusal: unreadable, no_message_id, no_user or user_is_pii. `null` if the event was ' +
              'not refused.',
          }),
          effects: Type.Array(Type.Object({ kind: Type.String(), name: Type.String(), result: Type.String() })),
          notes: Type.Array(Type.Object(noteFields), { description: 'Values that were ignored.' }),
          times: Type.Integer({ description: 'Number of times the event was received.' }),
        },
        { title: 'SourceEvent' },
      ),
    ),
  },
  { title: 'SourceEventsAnswer' },
);

type Deps = { http: ManagementHttp; userKeys: UserKeys };

/**
 * Registers the routes that receive events from Segment and RudderStack, and the routes that return their results
 * (docs/reference/users-and-privacy.md#sources).
 */
export async function sourceRoutes(app: App, { http, userKeys }: Deps): Promise<void> {
  const { management, secretBox } = http;
  const permitted = requirePermission(http, 'configurations');
  await app.register((scope: App) => receiveRoute(scope, { http, userKeys }));

  const getSchema = {
    operationId: 'getSegmentSource',
    summary: 'Get the settings of a source',
    description: 'Returns the mapping of events, and whether calls must be signed. The secret is never returned.',
    tags,
    querystring: publisherQuery,
    response: { 200: sourceAnswer, ...errorAnswers(401, 403, 404) },
  };
  app.get(path, { schema: getSchema, ...permitted }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const source = await management.read(actor, publisherId, (work) => readSource(work, secretBox));
    return { message: 'Source found.', data: viewOf(source) };
  });

  const putSchema = {
    operationId: 'setSegmentSource',
    summary: 'Replace the settings of a source',
    description:
      'Replaces the settings. Omitted parts become empty, except for the secret. The settings apply from the ' +
      'next call.',
    tags,
    querystring: publisherQuery,
    body: sourceInput,
    response: { 200: sourceAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.put(path, { schema: putSchema, ...permitted, ...strictBody }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const { secret: newSecret, ...settings } = request.body as Static<typeof sourceInput>;
    const source = await management.write(actor, publisherId, (work) =>
      saveSource(work, secretBox, settings, newSecret),
    );
    return { message: 'Source saved.', data: viewOf(source) };
  });

  const eventsSchema = {
    operationId: 'listSegmentEvents',
    summary: 'List the latest events of a source',
    description: 'Returns the last 100 events with their results. Values of events are not stored.',
    tags,
    querystring: publisherQuery,
    response: { 200: eventsAnswer, ...errorAnswers(401, 403, 404) },
  };
  app.get(`${path}/events`, { schema: eventsSchema, ...permitted }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const events = await management.read(actor, publisherId, ({ executor }) => listEvents(executor, publisherId));
    return { message: 'Events found.', data: events.map(eventView) };
  });
}

/** The route reads the body as raw bytes, because the signature covers exactly these bytes. */
async function receiveRoute(scope: App, { http, userKeys }: Deps): Promise<void> {
  const { management, secretBox } = http;
  scope.setValidatorCompiler(() => (value) => ({ value }));
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const schema = {
    operationId: 'receiveSegmentEvents',
    summary: 'Receive events from Segment or RudderStack',
    description:
      'Accepts `identify`, `track` and `group` calls, single, as a list or as `batch`, and membership changes of ' +
      'Segment audiences. Each event is processed once by its `messageId`. A late event does not overwrite newer ' +
      'data. If the source has a secret, `x-signature` must be the HMAC-SHA1 of the body.',
    tags,
    querystring: publisherQuery,
    headers: Type.Object({ 'x-signature': Type.Optional(Type.String()) }),
    body: Type.Union([Type.Object({}), Type.Array(Type.Object({}))], { description: `Up to ${maxEvents} events.` }),
    response: { 200: receivedAnswer, ...errorAnswers(400, 401, 403, 404, 413, 415) },
  };
  const hooks = requirePermission(http, 'configurations');
  scope.post(path, { schema, bodyLimit: maxBytes, ...hooks }, async (request) => {
    const { actor, publisherId } = callOf(request);
    if (!Buffer.isBuffer(request.body)) throw new AppError('unsupported_media_type');
    const bytes = request.body;
    const events = await readBody(bytes);
    const { isFirst, ...data } = await management.write(actor, publisherId, async (work) => {
      const { settings, secret: shared } = await readSource(work, secretBox);
      const signature = String(request.headers['x-signature'] ?? '');
      if (shared !== null && !(await isSigned(bytes, signature, shared))) throw new AppError('invalid_signature');
      return receiveEvents(work, events, settings, userKeys);
    });
    if (isFirst) await readEverywhere();
    return { message: 'Events received.', data };
  });
}

/**
 * Parses the request body.
 * @throws AppError malformed_json, body_too_large
 */
async function readBody(bytes: Buffer): Promise<readonly unknown[]> {
  const body = await readJsonInSlices(bytes, bodyLimits);
  const batch = Array.isArray(body) ? body : (body as { batch?: unknown }).batch;
  return Array.isArray(batch) ? batch : [body];
}

const viewOf = ({ settings, secret: shared }: Source) => ({ ...settings, has_secret: shared !== null });

const eventView = ({ messageId, receivedAt, sentAt, ...rest }: SourceEvent) => ({
  message_id: messageId,
  received_at: receivedAt.toISOString(),
  sent_at: sentAt.toISOString(),
  ...rest,
});

/**
 * Checks the `x-signature` header in Segment webhooks: the HMAC-SHA1 of the request body with the shared secret, in
 * hex. For a batch, Segment's actions destination signs only the first event. The other events are authenticated only
 * by the API key.
 */
async function isSigned(body: Buffer, signature: string, secret: string): Promise<boolean> {
  if (!/^[0-9a-f]{40}$/i.test(signature)) return false;
  const expected = Buffer.from(signature, 'hex');
  const isOf = (signed: Buffer): boolean =>
    timingSafeEqual(createHmac('sha1', secret).update(signed).digest(), expected);
  if (isOf(body)) return true;
  const first = await findFirstRow(body, 'batch', bodyLimits);
  return first !== null && isOf(first);
}
