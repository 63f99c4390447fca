import { Type } from '@sinclair/typebox';
import { callOf, publisherQuery } from '../catalog/management/http.ts';
import type { CatalogDeps } from '../catalog/ports.ts';
import { createFailFast } from '../platform/db/fail-fast.ts';
import { AppError } from '../platform/errors.ts';
import { emptyBodyByDefault } from '../platform/http/body-parsing.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import { textOrNull } from '../platform/lib/text-or-null.ts';
import { isUuid7, newUuid7 } from '../platform/lib/uuid7.ts';
import type { App } from '../platform/ports.ts';
import { createUserKeys } from '../platform/security/user-key.ts';
import { sealSubject } from './eraser.ts';
import { type Erasure, findErasure, insertErasure } from './erasures.ts';
import { exportUser } from './export.ts';
import type { Subject } from './traces.ts';

const erasurePath = '/manage/v1/privacy/erasure';
const tags = ['Privacy'];

const identifier = (description: string) =>
  Type.Optional(Type.String({ maxLength: 256, pattern: '^[^\\u0000]*$', description }));
const userBody = Type.Object({
  pub_user_id: identifier('Your id of the user. Give this or `ad_fp`.'),
  ad_fp: identifier('The id of the device or browser that fetches named. Give this or `pub_user_id`.'),
});

const time = Type.Union([Type.String({ format: 'date-time' }), Type.Null()]);
const erasureAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    id: Type.String({ format: 'uuid' }),
    status: Type.Union([Type.Literal('pending'), Type.Literal('sweeping'), Type.Literal('done')], {
      description: 'sweeping: all is erased that was there; once more for what was under way meanwhile.',
    }),
    named_by: Type.Union([Type.Literal('pub_user_id'), Type.Literal('ad_fp')]),
    requested_at: Type.String({ format: 'date-time' }),
    finished_at: time,
    erased: Type.Object(
      { sessions: Type.Integer(), deliveries: Type.Integer(), wallet_items: Type.Integer(), histories: Type.Integer() },
      { description: 'Rows removed or emptied so far.' },
    ),
  }),
});
const exportAnswer = Type.Object({
  message: Type.String(),
  data: Type.Record(Type.String(), Type.Unknown(), { description: 'What is kept about the user, by kind.' }),
});

/** Erasing and exporting what is kept about a user, at the publisher's request. */
export async function privacyUserRoutes(
  app: App,
  { pool, dbHealth, auth, secretBox, config, now }: CatalogDeps,
): Promise<void> {
  const guarded = createFailFast(dbHealth);
  const userKeys = createUserKeys(config.userPepper);
  const preValidation = [emptyBodyByDefault, auth.requireKey('configurations', 'accounts')];
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });

  /** @throws AppError invalid_request unless the user is named once */
  function subjectOf(publisherId: number, body: { pub_user_id?: string; ad_fp?: string }): Subject {
    const [pubUserId, adFp] = [textOrNull(body.pub_user_id), textOrNull(body.ad_fp)];
    const named = pubUserId ?? adFp;
    if (named === null || (pubUserId !== null && adFp !== null))
      throw new AppError('invalid_request', {
        details: [{ path: '/', message: 'must name the user by pub_user_id or by ad_fp' }],
      });
    const namedBy = pubUserId === null ? 'ad_fp' : 'pub_user_id';
    return { publisherId, namedBy, identifier: named, userKey: userKeys.of(publisherId, named) };
  }

  const postSchema = {
    summary: 'Erase a user',
    description: 'Takes at most a minute; the answer names the job. What comes after the request is a new start.',
    tags,
    querystring: publisherQuery,
    body: userBody,
    response: { 202: erasureAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.post(erasurePath, { schema: postSchema, preValidation }, async (request, reply) => {
    const { publisherId, namedBy, userKey, identifier } = subjectOf(callOf(request).publisherId, request.body);
    const nowMs = now();
    const asked = { id: newUuid7(nowMs), publisherId, namedBy, userKey, requestedAt: new Date(nowMs) };
    const erasure = await guarded(() =>
      insertErasure(pool, { ...asked, subjectSealed: sealSubject(secretBox, identifier) }),
    );
    reply.code(202);
    return { message: 'The user will be erased.', data: viewOf(erasure) };
  });

  const params = Type.Object({ id: Type.String() });
  const response = { 200: erasureAnswer, ...errorAnswers(401, 403, 404) };
  const getSchema = { summary: 'How far an erasure is', tags, params, querystring: publisherQuery, response };
  app.get(`${erasurePath}/:id`, { schema: getSchema, preValidation }, async (request) => {
    const { id } = request.params;
    const erasure = isUuid7(id) ? await guarded(() => findErasure(pool, callOf(request).publisherId, id)) : null;
    if (erasure === null) throw new AppError('erasure_not_found');
    return {
      message: erasure.finishedAt === null ? 'The user is being erased.' : 'The user is erased.',
      data: viewOf(erasure),
    };
  });

  const exportSchema = {
    summary: 'Export what is kept about a user',
    tags,
    querystring: publisherQuery,
    body: userBody,
    response: { 200: exportAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.post('/manage/v1/privacy/export', { schema: exportSchema, preValidation }, async (request) => {
    const subject = subjectOf(callOf(request).publisherId, request.body);
    return { message: 'Exported.', data: await guarded(() => exportUser(pool, userKeys, subject, new Date(now()))) };
  });
}

const viewOf = ({ id, namedBy, requestedAt, sweptAt, finishedAt, counts }: Erasure) => ({
  id,
  status: finishedAt !== null ? ('done' as const) : sweptAt !== null ? ('sweeping' as const) : ('pending' as const),
  named_by: namedBy,
  requested_at: requestedAt.toISOString(),
  finished_at: finishedAt?.toISOString() ?? null,
  erased: { sessions: 0, deliveries: 0, wallet_items: 0, histories: 0, ...counts },
});
