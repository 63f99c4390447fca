import { Type } from '@sinclair/typebox';
import type { Caller } from '../accounts/caller.ts';
import { callOf, publisherQuery } from '../management/http.ts';
import { strictBody } from '../management/strict-body.ts';
import type { Management, Work } from '../management/unit-of-work.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import type { Authenticator } from '../platform/http/auth.ts';
import { emptyBodyByDefault } from '../platform/http/body-parsing.ts';
import { errorAnswers, integerParameter, noNul, textOrNumber } from '../platform/http/schemas.ts';
import { isUuid7 } from '../platform/lib/uuid7.ts';
import { identifierKinds } from '../platform/user-data.ts';
import type { PrivacyDesk } from './desk.ts';
import { type Erasure, findErasure, listErasures, statusOf } from './erasures.ts';

const erasurePath = '/manage/v1/privacy/erasure';
const tags = ['Privacy'];

/** Default number of erasures per page. */
const defaultLimit = 50;

const userBody = Type.Object(
  {
    pub_user_id: textOrNumber(256, "Publisher's ID of the user. Exactly one of the four fields is required."),
    ad_fp: textOrNumber(256, "ID of the user's device or browser, as in fetches."),
    email: Type.Optional(
      Type.String({
        maxLength: 254,
        description: 'E-mail address. Selects audience memberships by its hash, and perk messages to the address.',
      }),
    ),
    email_sha256: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'SHA-256 hash of the lower-case e-mail address. Selects audience memberships by this hash.',
      }),
    ),
  },
  { title: 'UserSubject', additionalProperties: false },
);

const erasureView = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    status: Type.Union([Type.Literal('pending'), Type.Literal('sweeping'), Type.Literal('done')], {
      description:
        'State of the erasure. `sweeping`: the first pass is done; a second pass covers requests that were in ' +
        'flight.',
    }),
    named_by: Type.Union(identifierKinds.map((kind) => Type.Literal(kind))),
    requested_at: Type.String({ format: 'date-time' }),
    finished_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    erased: Type.Object(
      {
        sessions: Type.Integer(),
        deliveries: Type.Integer(),
        wallet_items: Type.Integer(),
        coupons: Type.Integer(),
        histories: Type.Integer(),
        memberships: Type.Integer(),
      },
      { description: 'Number of rows that were deleted or cleared so far.' },
    ),
  },
  { title: 'Erasure' },
);
const erasureAnswer = Type.Object({ message: Type.String(), data: erasureView }, { title: 'ErasureAnswer' });
const erasuresAnswer = Type.Object(
  {
    message: Type.String(),
    data: Type.Array(erasureView),
    next_cursor: Type.Union([Type.String(), Type.Null()]),
  },
  { title: 'ErasuresAnswer' },
);
const exportAnswer = Type.Object({
  message: Type.String(),
  data: Type.Record(Type.String(), Type.Unknown(), { description: 'Personal data of the user by kind.' }),
});

const eraseSchema = {
  operationId: 'eraseUser',
  summary: 'Erase a user',
  description:
    'Starts a job that takes at most a minute and returns its ID. Sessions that begin after the request are not ' +
    'erased.',
  tags,
  querystring: publisherQuery,
  body: userBody,
  response: { 202: erasureAnswer, ...errorAnswers(400, 401, 403, 404) },
};

const deleteUserSchema = {
  operationId: 'deleteUser',
  summary: 'Erase the user in the path',
  description: 'Starts an erasure of this `pub_user_id`, including its attributes.',
  tags: ['Users'],
  params: Type.Object({ pub_user_id: Type.String({ pattern: noNul }) }),
  querystring: publisherQuery,
  response: { 202: erasureAnswer, ...errorAnswers(400, 401, 403, 404) },
};

const statusSchema = {
  operationId: 'getErasure',
  summary: 'Get the progress of an erasure',
  description: 'Returns the state of the erasure and the number of erased rows.',
  tags,
  params: Type.Object({ id: Type.String() }),
  querystring: publisherQuery,
  response: { 200: erasureAnswer, ...errorAnswers(401, 403, 404) },
};

const listSchema = {
  operationId: 'listErasures',
  summary: 'List erasures',
  description: 'Returns erasure requests with their state, newest first. The erased users are not identified.',
  tags,
  querystring: Type.Object({
    ...publisherQuery.properties,
    limit: integerParameter(
      { minimum: 1, maximum: 100 },
      { pattern: '^([1-9]\\d?|100)$', description: `Erasures per page, 1 to 100. Defaults to ${defaultLimit}.` },
    ),
    cursor: Type.Optional(Type.String({ maxLength: 36, description: '`next_cursor` of the previous page.' })),
  }),
  response: { 200: erasuresAnswer, ...errorAnswers(400, 401, 403, 404) },
};

const exportSchema = {
  operationId: 'exportUser',
  summary: 'Export personal data of a user',
  description: 'Returns all stored data of the user as JSON. A publisher can run one export at a time.',
  tags,
  querystring: publisherQuery,
  body: userBody,
  response: { 200: exportAnswer, ...errorAnswers(400, 401, 403, 404, 429) },
};

type PrivacyDeps = { auth: Authenticator<Caller>; management: Management; desk: PrivacyDesk };

/** Registers the routes for erasing and exporting a user's data (docs/reference/users-and-privacy.md#privacy). */
export async function privacyUserRoutes(app: App, { auth, management, desk }: PrivacyDeps): Promise<void> {
  const preValidation = [emptyBodyByDefault, auth.requireKey('configurations', 'accounts')];
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });

  app.post(erasurePath, { schema: eraseSchema, preValidation, ...strictBody }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const subject = desk.subjectOf(publisherId, request.body);
    const erasure = await management.write(actor, publisherId, (work) => desk.erase(work, subject));
    reply.code(202);
    return { message: 'The user will be erased.', data: viewOf(erasure) };
  });

  app.delete('/manage/v1/users/:pub_user_id', { schema: deleteUserSchema, preValidation }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const subject = desk.subjectOf(publisherId, request.params);
    const erasure = await management.write(actor, publisherId, (work) => desk.erase(work, subject));
    reply.code(202);
    return { message: 'The user will be erased.', data: viewOf(erasure) };
  });

  app.get(erasurePath, { schema: listSchema, preValidation }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const { limit = defaultLimit, cursor = null } = request.query;
    if (cursor !== null && !isUuid7(cursor)) throw new AppError('invalid_cursor');
    const { erasures, next } = await management.read(actor, publisherId, ({ executor }) =>
      listErasures(executor, publisherId, { limit: Number(limit), before: cursor }),
    );
    return { message: 'Erasures found.', data: erasures.map(viewOf), next_cursor: next };
  });

  app.get(`${erasurePath}/:id`, { schema: statusSchema, preValidation }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const { id } = request.params;
    const erasure = isUuid7(id)
      ? await management.read(actor, publisherId, ({ executor }) => findErasure(executor, publisherId, id))
      : null;
    if (erasure === null) throw new AppError('erasure_not_found');
    const message = erasure.finishedAt === null ? 'The user is being erased.' : 'The user is erased.';
    return { message, data: viewOf(erasure) };
  });

  app.post(
    '/manage/v1/privacy/export',
    { schema: exportSchema, preValidation, ...strictBody },
    async (request, reply) => {
      const { actor, publisherId } = callOf(request);
      const subject = desk.subjectOf(publisherId, request.body);
      const write = (work: (work: Work) => Promise<void>) => management.write(actor, publisherId, work);
      const file = await desk.export(subject, write, { before: '{"message":"Exported.","data":', after: '}' });
      return reply.type('application/json; charset=utf-8').send(file as never);
    },
  );
}

const viewOf = ({ id, namedBy, requestedAt, sweptAt, finishedAt, counts }: Erasure) => ({
  id,
  status: statusOf({ finishedAt, sweptAt }),
  named_by: namedBy,
  requested_at: requestedAt.toISOString(),
  finished_at: finishedAt?.toISOString() ?? null,
  erased: { sessions: 0, deliveries: 0, wallet_items: 0, coupons: 0, histories: 0, memberships: 0, ...counts },
});
