import { type Static, Type } from '@sinclair/typebox';
import type { AccountDeps } from '../accounts/ports.ts';
import { callOf, publisherQuery } from '../management/http.ts';
import { strictBody } from '../management/strict-body.ts';
import { createFailFast } from '../platform/db/health.ts';
import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import { emptyBodyByDefault, textOrNull } from '../platform/http/body-parsing.ts';
import { errorAnswers, textOrNumber } from '../platform/http/schemas.ts';
import { isUuid7, newUuid7 } from '../platform/lib/uuid7.ts';
import type { App } from '../platform/ports.ts';
import { createUserKeys, type UserKeys } from '../platform/security/user-key.ts';
import type { ExportScope, UserSubject } from '../platform/user-data.ts';
import { sealSubject } from './erasure-job.ts';
import { type Erasure, findErasure, insertErasure } from './erasures.ts';
import type { UserDataSteps } from './steps.ts';

const erasurePath = '/manage/v1/privacy/erasure';
const tags = ['Privacy'];

const userBody = Type.Object(
  {
    pub_user_id: textOrNumber(256, 'Your id of the user. Give this or `ad_fp`.'),
    ad_fp: textOrNumber(256, 'The id of the device or browser that fetches named. Give this or `pub_user_id`.'),
  },
  { title: 'UserSubject', additionalProperties: false },
);

const erasureAnswer = Type.Object(
  {
    message: Type.String(),
    data: Type.Object({
      id: Type.String({ format: 'uuid' }),
      status: Type.Union([Type.Literal('pending'), Type.Literal('sweeping'), Type.Literal('done')], {
        description: 'sweeping: the first sweep is done; a second one follows for requests that were in flight.',
      }),
      named_by: Type.Union([Type.Literal('pub_user_id'), Type.Literal('ad_fp')]),
      requested_at: Type.String({ format: 'date-time' }),
      finished_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
      erased: Type.Object(
        {
          sessions: Type.Integer(),
          deliveries: Type.Integer(),
          wallet_items: Type.Integer(),
          histories: Type.Integer(),
        },
        { description: 'Rows removed or emptied so far.' },
      ),
    }),
  },
  { title: 'ErasureAnswer' },
);
const exportAnswer = Type.Object({
  message: Type.String(),
  data: Type.Record(Type.String(), Type.Unknown(), { description: 'Personal data of the user, by kind.' }),
});

const eraseSchema = {
  operationId: 'eraseUser',
  summary: 'Erase a user',
  description:
    'Takes at most a minute; the answer names the job. Sessions that begin after the request are not erased.',
  tags,
  querystring: publisherQuery,
  body: userBody,
  response: { 202: erasureAnswer, ...errorAnswers(400, 401, 403, 404) },
};

const statusSchema = {
  operationId: 'getErasure',
  summary: 'Progress of an erasure',
  description: 'Its state, and how many rows were erased.',
  tags,
  params: Type.Object({ id: Type.String() }),
  querystring: publisherQuery,
  response: { 200: erasureAnswer, ...errorAnswers(401, 403, 404) },
};

const exportSchema = {
  operationId: 'exportUser',
  summary: 'Export personal data of a user',
  description: 'Everything that is kept of the user, as JSON.',
  tags,
  querystring: publisherQuery,
  body: userBody,
  response: { 200: exportAnswer, ...errorAnswers(400, 401, 403, 404) },
};

type PrivacyDeps = Pick<AccountDeps, 'pool' | 'dbHealth' | 'auth' | 'secretBox' | 'config' | 'now'> & {
  userData: UserDataSteps;
};

/** Erasure and export of a user, on the publisher's request (docs/interface.md#privacy). */
export async function privacyUserRoutes(app: App, deps: PrivacyDeps): Promise<void> {
  const { pool, secretBox, userData, now } = deps;
  const failFast = createFailFast(deps.dbHealth);
  const userKeys = createUserKeys(deps.config.userPepper, deps.config.earlierPeppers);
  const preValidation = [emptyBodyByDefault, deps.auth.requireKey('configurations', 'accounts')];
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });

  app.post(erasurePath, { schema: eraseSchema, preValidation, ...strictBody }, async (request, reply) => {
    const { identifier, userKeys: _all, ...named } = subjectOf(userKeys, callOf(request).publisherId, request.body);
    const nowMs = now();
    const requested = { ...named, id: newUuid7(nowMs), requestedAt: new Date(nowMs) };
    const erasure = await failFast(() =>
      insertErasure(pool, { ...requested, subjectSealed: sealSubject(secretBox, identifier) }),
    );
    reply.code(202);
    return { message: 'The user will be erased.', data: viewOf(erasure) };
  });

  app.get(`${erasurePath}/:id`, { schema: statusSchema, preValidation }, async (request) => {
    const { id } = request.params;
    const erasure = isUuid7(id) ? await failFast(() => findErasure(pool, callOf(request).publisherId, id)) : null;
    if (erasure === null) throw new AppError('erasure_not_found');
    const message = erasure.finishedAt === null ? 'The user is being erased.' : 'The user is erased.';
    return { message, data: viewOf(erasure) };
  });

  app.post('/manage/v1/privacy/export', { schema: exportSchema, preValidation, ...strictBody }, async (request) => {
    const subject = subjectOf(userKeys, callOf(request).publisherId, request.body);
    const data = await failFast(() => exportUser(pool, { userKeys, userData }, subject, new Date(now())));
    return { message: 'Exported.', data };
  });
}

/** @throws AppError invalid_request unless exactly one identifier is given */
function subjectOf(userKeys: UserKeys, publisherId: number, body: Static<typeof userBody>): UserSubject {
  const [pubUserId, adFp] = [textOrNull(body.pub_user_id), textOrNull(body.ad_fp)];
  const identifier = pubUserId ?? adFp;
  if (identifier === null || (pubUserId !== null && adFp !== null))
    throw new AppError('invalid_request', {
      details: [{ path: '/', message: 'must name the user by pub_user_id or by ad_fp' }],
    });
  const namedBy = pubUserId === null ? 'ad_fp' : 'pub_user_id';
  const keys = userKeys.allOf(publisherId, identifier);
  return { publisherId, namedBy, identifier, userKey: userKeys.of(publisherId, identifier), userKeys: keys };
}

const viewOf = ({ id, namedBy, requestedAt, sweptAt, finishedAt, counts }: Erasure) => ({
  id,
  status: finishedAt !== null ? ('done' as const) : sweptAt !== null ? ('sweeping' as const) : ('pending' as const),
  named_by: namedBy,
  requested_at: requestedAt.toISOString(),
  finished_at: finishedAt?.toISOString() ?? null,
  erased: { sessions: 0, deliveries: 0, wallet_items: 0, histories: 0, ...counts },
});

/** Sessions of one export, and deliveries of it (count each); with more, the export says that it is cut. */
const maxSessions = 2000;

/** All personal data of a user, as they are kept (docs/interface.md#privacy). */
async function exportUser(
  executor: Executor,
  { userKeys, userData }: { userKeys: UserKeys; userData: UserDataSteps },
  subject: UserSubject,
  now: Date,
): Promise<Record<string, unknown>> {
  const sessions = await userData.findSessions(executor, subject, now, maxSessions);
  const pubUserIds = new Set(sessions.flatMap(({ pubUserId }) => pubUserId ?? []));
  if (subject.namedBy === 'pub_user_id') pubUserIds.add(subject.identifier);
  const exported: Record<string, unknown> = { complete: sessions.length < maxSessions };
  const scope: ExportScope = {
    subject,
    days: [...new Set(sessions.map(({ day }) => day))],
    sessionIds: sessions.map(({ id }) => id),
    userKeys: [...new Set([...subject.userKeys, ...sessions.flatMap(({ userKey }) => userKey ?? [])])],
    pubUserKeys: [...pubUserIds].flatMap((id) => userKeys.allOf(subject.publisherId, id)),
    maxRows: maxSessions,
    onCut: () => {
      exported.complete = false;
    },
  };
  for (const [name, read] of Object.entries(userData.exports)) exported[name] = await read(executor, scope);
  return exported;
}
