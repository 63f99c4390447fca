import { type Static, Type } from '@sinclair/typebox';
import { keepAttributes, readEverywhere } from '../../catalog/store.ts';
import { callOf, type ManagementHttp, publisherQuery, requirePermission } from '../../management/http.ts';
import { strictBody } from '../../management/strict-body.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { readJsonInSlices } from '../../platform/http/json-slices.ts';
import { errorAnswers, noNul } from '../../platform/http/schemas.ts';
import { problem } from '../../platform/problem.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import type { StoredAttributes } from '../profile.ts';
import {
  type AttributesChange,
  readChange,
  readChanges,
  readPubUserId,
  type UserBody,
  userBody,
  usersBody,
} from './read.ts';
import { findAttributes, saveAttributes } from './store.ts';

const path = '/manage/v1/users';
const tags = ['Users'];
const params = Type.Object({ pub_user_id: Type.String({ pattern: noNul }) });

const userView = Type.Object(
  {
    pub_user_id: Type.String(),
    attributes: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
    expires_at: Type.Record(Type.String(), Type.String({ format: 'date-time' }), {
      description: 'Expiry by attribute name. Attributes that never expire are omitted.',
    }),
  },
  { title: 'UserAttributes' },
);
const userAnswer = Type.Object({ message: Type.String(), data: userView }, { title: 'UserAttributesAnswer' });
const usersAnswer = Type.Object(
  {
    message: Type.String(),
    data: Type.Object({ users: Type.Integer({ description: 'Number of users in the request.' }) }),
  },
  { title: 'UserAttributesBatchAnswer' },
);

/** Maximum body size for 1,000 users, in bytes. */
const batchBytes = 4 * 1024 * 1024;
const batchLimits = { rows: 1100, rowBytes: () => 64 * 1024, otherwise: problem('sendSeveralCalls') };

/** Skips schema validation of the body, because it is validated one user at a time while it is parsed. */
const uncheckedBody: typeof strictBody = {
  validatorCompiler: (part) =>
    part.httpPart === 'body' ? (value: unknown) => ({ value }) : strictBody.validatorCompiler(part),
};

type UserRoute = { Params: Static<typeof params> };
type Awaitable<Value> = Value | Promise<Value>;
type AttributeRoutes = { http: ManagementHttp; userKeys: UserKeys };

/** Registers the user attribute routes (docs/reference/users-and-privacy.md#user-attributes). */
export async function attributeRoutes(app: App, { http, userKeys }: AttributeRoutes): Promise<void> {
  const { management } = http;
  const hooks = { ...requirePermission(http, 'configurations'), ...strictBody };
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });

  async function save(request: Parameters<typeof callOf>[0], read: (nowMs: number) => Awaitable<AttributesChange[]>) {
    const { actor, publisherId } = callOf(request);
    let isFirst = false;
    const saved = await management.write(actor, publisherId, async ({ executor, nowMs }: Work) => {
      const changes = await read(nowMs);
      isFirst = await keepAttributes(executor, publisherId);
      return saveAttributes(executor, changes, { publisherId, userKeys, nowMs });
    });
    if (isFirst) await readEverywhere();
    return saved;
  }

  const putSchema = {
    operationId: 'setUserAttributes',
    summary: 'Set attributes of a user',
    description:
      'Sets or removes attributes; `null` removes one. Attributes that are not in the body stay unchanged. They ' +
      "apply from the user's next fetch, in conditions, ranking and macros. Custom attributes of the fetch take " +
      'precedence over stored ones.',
    tags,
    params,
    querystring: publisherQuery,
    body: userBody,
    response: { 200: userAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.put<UserRoute & { Body: UserBody }>(`${path}/:pub_user_id`, { schema: putSchema, ...hooks }, async (request) => {
    const { pub_user_id: id } = request.params;
    const [stored = {}] = await save(request, (nowMs) => [readChange(id, request.body, nowMs)]);
    return { message: 'Attributes saved.', data: viewOf(id, stored) };
  });

  const postSchema = {
    operationId: 'setUsersAttributes',
    summary: 'Set attributes of up to 1,000 users',
    description:
      'Sets attributes of each user as `PUT` does, in the order of the list. Either all changes are saved or none.',
    tags,
    querystring: publisherQuery,
    body: usersBody,
    response: { 200: usersAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  await app.register(async (batches: App) => {
    batches.removeContentTypeParser('application/json');
    batches.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
      body.length === 0 ? undefined : readJsonInSlices(body, batchLimits),
    );
    const options = { schema: postSchema, bodyLimit: batchBytes, ...hooks, ...uncheckedBody };
    batches.post(path, options, async (request) => {
      const saved = await save(request, (nowMs) => readChanges(request.body, nowMs));
      return { message: 'Attributes saved.', data: { users: saved.length } };
    });
  });

  const getSchema = {
    operationId: 'getUserAttributes',
    summary: 'Get the attributes of a user',
    description: 'Returns the stored attributes and their expiry times.',
    tags,
    params,
    querystring: publisherQuery,
    response: { 200: userAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.get<UserRoute>(`${path}/:pub_user_id`, { schema: getSchema, ...hooks }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const id = readPubUserId(request.params.pub_user_id);
    const stored = await management.read(actor, publisherId, ({ executor, nowMs }) =>
      findAttributes(executor, userKeys.allOf(publisherId, id), nowMs),
    );
    if (stored === null) throw new AppError('resource_not_found', { message: problem('userUnknown') });
    return { message: 'Attributes found.', data: viewOf(id, stored) };
  });
}

function viewOf(pubUserId: string, stored: StoredAttributes) {
  const entries = Object.entries(stored);
  return {
    pub_user_id: pubUserId,
    attributes: Object.fromEntries(entries.map(([name, { value }]) => [name, value])),
    expires_at: Object.fromEntries(
      entries.flatMap(([name, { until }]) => (until === undefined ? [] : [[name, new Date(until).toISOString()]])),
    ),
  };
}
