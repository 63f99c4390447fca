import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { readEverywhere } from '../catalog/store.ts';
import { callOf, type ManagementHttp, publisherQuery, requirePermission } from '../management/http.ts';
import { strictBody } from '../management/strict-body.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { findFirstRow, readJsonInSlices } from '../platform/http/json-slices.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import type { UserKeys } from '../platform/security/user-key.ts';
import { listEvents, type SourceEvent } from './events.ts';
import { receiveEvents } from './receive.ts';
import { readSource, type Source, saveSource, sourceInput, sourceSettings } from './settings.ts';

const path = '/manage/v1/sources/segment';
const tags = ['Sources'];

/** Maximum size of a batch in bytes, number of events in it, and size of an event in bytes. */
const maxBytes = 4 * 1024 * 1024;
const maxEvents = 1000;
const bodyLimits = { rows: maxEvents, rowBytes: () => 64 * 1024, otherwise: 'send several calls' };

const sourceView = Type.Object(
  { ...sourceSettings.properties, has_secret: Type.Boolean({ description: 'Whether calls have to be signed.' }) },
  { title: 'Source' },
);
const sourceAnswer = Type.Object({ message: Type.String(), data: sourceView }, { title: 'SourceAnswer' });

const count = (description: string) => Type.Integer({ description });
const noteFields = {
  path: Type.String({ description: 'JSON pointer into the event; empty for the whole of it.' }),
  reason: Type.String({
    description:
      'A refusal (`no_user`), the result of an effect (`invalid`), or a value that was ignored: `unreadable_time`, ' +
      '`future_time`, `unknown_currency`, `no_value`, `not_boolean`.',
  }),
};
const problemSchema = Type.Object(
  {
    index: Type.Integer({ description: 'Place of the event in the call, from 0.' }),
    message_id: Type.Union([Type.String(), Type.Null()]),
    ...noteFields,
  },
  { title: 'EventProblem' },
);
const receivedAnswer = Type.Object(
  {
    message: Type.String(),
    data: Type.Object({
      received: count('Events of the call.'),
      duplicates: count('Of these, came before: `messageId` tells.'),
      applied: count('All that they say of a user was taken.'),
      partly: count('Some of it was.'),
      ignored: count('Nothing in the settings names what they hold.'),
      superseded: count('Something newer was said of the same before.'),
      refused: count('Nothing could be taken.'),
      problems: Type.Array(problemSchema, {
        description: 'What was not taken of new events, and why; the first hundred.',
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
          sent_at: Type.String({ format: 'date-time', description: 'As the event says.' }),
          type: Type.String(),
          name: Type.String({ description: 'Of a track call, or the audience.' }),
          result: Type.String({ description: 'applied, partly, ignored, superseded or refused.' }),
          refusal: Type.Union([Type.String(), Type.Null()], {
            description: 'unreadable, no_message_id, no_user or user_is_pii.',
          }),
          effects: Type.Array(Type.Object({ kind: Type.String(), name: Type.String(), result: Type.String() })),
          notes: Type.Array(Type.Object(noteFields), { description: 'Values that were ignored.' }),
          times: Type.Integer({ description: 'How often it came.' }),
        },
        { title: 'SourceEvent' },
      ),
    ),
  },
  { title: 'SourceEventsAnswer' },
);

type Deps = { http: ManagementHttp; userKeys: UserKeys };

/** Routes for events of Segment and RudderStack, and their results (docs/reference/users-and-privacy.md#sources). */
export async function sourceRoutes(app: App, { http, userKeys }: Deps): Promise<void> {
  const { management, secretBox } = http;
  const permitted = requirePermission(http, 'configurations');
  await app.register((scope: App) => receiveRoute(scope, { http, userKeys }));

  const getSchema = {
    operationId: 'getSegmentSource',
    summary: 'Show what becomes of events of Segment',
    description: 'The mapping, and whether calls have to be signed; the secret is never shown.',
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
    summary: 'Set what becomes of events of Segment',
    description: 'Replaces the settings; what is left out is empty, but the secret stays. Holds from the next call on.',
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
    summary: 'List the latest events of Segment',
    description: 'The last hundred, and what became of each. Their values are not kept.',
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

/** The body is read as raw bytes, because these are signed. */
async function receiveRoute(scope: App, { http, userKeys }: Deps): Promise<void> {
  const { management, secretBox } = http;
  scope.setValidatorCompiler(() => (value) => ({ value }));
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const schema = {
    operationId: 'receiveSegmentEvents',
    summary: 'Take events of Segment or RudderStack',
    description:
      '`identify`, `track` and `group` calls as both send them, alone, as a list or as `batch`, and memberships as ' +
      'audiences of Segment send them. Each is taken once by its `messageId`, and what comes late undoes nothing ' +
      'newer. Where the source has a secret, `x-signature` must be the HMAC-SHA1 of the body.',
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

/** @throws AppError malformed_json, body_too_large */
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
 * Checks `x-signature` of Segment's webhooks: HMAC-SHA1 in hex of the bytes of the body, with the shared secret. For a
 * batch, their destination of actions signs only the first event; the key of the call authenticates the others.
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
