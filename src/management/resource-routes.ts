import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../platform/http/app.ts';
import { namesEtag } from '../platform/http/etag.ts';
import { booleanParameter, describedAs, errorAnswers, integerParameter } from '../platform/http/schemas.ts';
import { type Additions, shownSchema, withAdditions, withoutAdditions } from './additions.ts';
import { answerOf, rowAnswer } from './answers.ts';
import {
  callOf,
  fieldsOf,
  forLimitedKeys,
  type ManagementHttp,
  post,
  publisherIdParameter,
  publisherQuery,
  requirePermission,
  send,
} from './http.ts';
import { choicesOf, defaultLimit, filterSchema, type ListQuery, listRows, maxLimit } from './list.ts';
import { capital, createBody, pascal, patchBody, type Resource } from './resource.ts';
import { restorableDays, restoreRow } from './restore.ts';
import { createRow, getRow, removeRow, updateRow } from './rows.ts';
import { refuseFields } from './strict-body.ts';

type Operation = 'list' | 'create' | 'get' | 'update' | 'remove' | 'restore';

/** OpenAPI security requirement for calls that need an operator's API key. */
export const operatorOnly = [{ operator: [] }];

export const ifMatch = Type.Object({
  'if-match': Type.Optional(
    Type.String({ description: 'ETag of the version to change. Without it, the last write wins.' }),
  ),
});

export const idempotencyKey = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description:
        'Unique key of the request. Repeating the request with the same key within a day returns the first response.',
    }),
  ),
});

/** Maximum body size of management calls, in bytes. */
const bodyLimit = 1024 * 1024;

/**
 * Prepares a Fastify scope for management routes. Route schemas are used only for documentation: calls, dashboard pages
 * and catalogue files share the same validation and messages.
 */
export function openManagementScope(app: App): void {
  app.addHook('onRoute', (route) => {
    route.bodyLimit ??= bodyLimit;
  });
  app.setValidatorCompiler(() => (value) => ({ value }));
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
}

/** Registers the standard routes of a resource: list, create, get, change, replace and remove. */
export function resourceRoutes(
  app: App,
  http: ManagementHttp,
  resource: Resource,
  operations: readonly Operation[],
): void {
  const path = `/manage/v1/${resource.name}`;
  const article = /^[aeio]/.test(resource.noun) ? 'an' : 'a';
  const routes: Routes = {
    app,
    http,
    resource,
    path,
    rowPath: `${path}/:${resource.key}`,
    hooks: { ...requirePermission(http, resource.permission), ...(resource.within && forLimitedKeys) },
    tags: [capital(resource.name.replace('-', ' '))],
    params: Type.Object({ [resource.key]: Type.String() }),
    noun: `${article} ${resource.noun}`,
    keyOf: (request) => (request.params as Record<string, string>)[resource.key] ?? '',
  };
  for (const operation of operations) addRoutes[operation](routes);
}

type Routes = {
  app: App;
  http: ManagementHttp;
  resource: Resource;
  /** Path of the collection and of a single row. */
  path: string;
  rowPath: string;
  hooks: ReturnType<typeof requirePermission> & Partial<typeof forLimitedKeys>;
  tags: string[];
  params: TObject;
  /** Noun with its indefinite article. */
  noun: string;
  keyOf: (request: FastifyRequest) => string;
};

const addRoutes: Record<Operation, (routes: Routes) => void> = {
  list: listRoute,
  create: createRoute,
  get: getRoute,
  update: updateRoutes,
  remove: removeRoute,
  restore: restoreRoute,
};

function listRoute({ app, http, resource, path, hooks, tags }: Routes): void {
  const schema = {
    operationId: `list${pascal(resource.name)}`,
    summary: `List ${resource.noun.replace(/ry$/, 'rie')}s`,
    description:
      'Returns a page of rows. `next_cursor` leads to the next page. Each field that is listed as a parameter ' +
      'filters by its value.',
    tags,
    querystring: listQuerySchema(resource, http.additions[resource.name]?.filters),
    response: { 200: listAnswer(shownSchema(http.additions, resource)), ...errorAnswers(400, 401, 403, 404) },
  };
  app.get(path, { schema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const query = request.query as ListQuery;
    const body = await http.management.read(actor, publisherId, async (work) => {
      const { rows, nextCursor } = await listRows(resource, work, query, {
        signer: http.cursors,
        added: http.additions[resource.name]?.filters,
      });
      return { data: await withAdditions(http.additions, resource, work, rows), next_cursor: nextCursor };
    });
    return send(reply, { status: 200, body, headers: {} });
  });
}

function createRoute({ app, http, resource, path, hooks, tags, noun }: Routes): void {
  const schema = {
    operationId: `create${pascal(resource.noun)}`,
    summary: `Create ${noun}`,
    description: 'Omitted fields get their default values. If fields are invalid, the response lists all of them.',
    tags,
    ...(resource.madeByOperators && { security: operatorOnly }),
    querystring: publisherQuery,
    headers: idempotencyKey,
    body: createBody(resource),
    response: { 201: answerOf(http, resource), ...errorAnswers(400, 401, 403, 404, 409, 422) },
  };
  app.post(path, { schema, ...hooks }, (request, reply) =>
    post(http, request, reply, async (work) => {
      const row = await createRow(resource, work, fieldsOf(request, resource));
      return rowAnswer(http, resource, work, row, { message: `${capital(resource.noun)} created.`, status: 201 });
    }),
  );
}

function getRoute({ app, http, resource, rowPath, hooks, tags, params, noun, keyOf }: Routes): void {
  const schema = {
    operationId: `get${pascal(resource.noun)}`,
    summary: `Get ${noun}`,
    description: 'Returns an ETag for `If-None-Match`, and for `If-Match` of changes.',
    tags,
    params,
    querystring: publisherQuery,
    response: {
      200: answerOf(http, resource),
      304: { description: 'The cached version is current.' },
      ...errorAnswers(401, 403, 404),
    },
  };
  app.get(rowPath, { schema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const message = `${capital(resource.noun)} found.`;
    const answer = await http.management.read(actor, publisherId, async (work) =>
      rowAnswer(http, resource, work, await getRow(resource, work, keyOf(request)), { message }),
    );
    if (namesEtag(request.headers['if-none-match'], answer.headers.etag))
      return reply.code(304).headers(answer.headers).send();
    return send(reply, answer);
  });
}

function updateRoutes({ app, http, resource, rowPath, hooks, tags, params, noun, keyOf }: Routes): void {
  const change = async (request: FastifyRequest, reply: FastifyReply, replace: boolean) => {
    const { actor, publisherId } = callOf(request);
    const mode = { ifMatch: request.headers['if-match'] ?? null, replace };
    const answer = await http.management.write(actor, publisherId, async (work) => {
      const fields = withoutAdditions(http.additions, resource, fieldsOf(request, resource));
      const row = await updateRow(resource, work, keyOf(request), fields, mode);
      return rowAnswer(http, resource, work, row, { message: `${capital(resource.noun)} saved.` });
    });
    return send(reply, answer);
  };
  const schema = {
    tags,
    params,
    querystring: publisherQuery,
    headers: ifMatch,
    response: { 200: answerOf(http, resource), ...errorAnswers(400, 401, 403, 404, 409, 412) },
  };
  const patchSchema = {
    ...schema,
    operationId: `update${pascal(resource.noun)}`,
    summary: `Update ${noun}`,
    description: 'Omitted fields stay unchanged.',
    body: patchBody(resource),
  };
  app.patch(rowPath, { schema: patchSchema, ...hooks }, (request, reply) => change(request, reply, false));
  const putSchema = {
    ...schema,
    operationId: `replace${pascal(resource.noun)}`,
    summary: `Replace ${noun}`,
    description: 'Omitted fields get their default values.',
    body: createBody(resource),
  };
  app.put(rowPath, { schema: putSchema, ...hooks }, (request, reply) => change(request, reply, true));
}

const removalTexts = (removedAt: Resource['removedAt'], noun: string) => {
  if (removedAt === 'revoked_at')
    return { summary: `Revoke ${noun}`, description: 'The key stops working immediately.' };
  const description = removedAt ? `It can be restored for ${restorableDays} days.` : 'It cannot be restored.';
  return { summary: `Remove ${noun}`, description };
};

function removeRoute({ app, http, resource, rowPath, hooks, tags, params, noun, keyOf }: Routes): void {
  const schema = {
    operationId: `remove${pascal(resource.noun)}`,
    ...removalTexts(resource.removedAt, noun),
    tags,
    params,
    querystring: publisherQuery,
    headers: ifMatch,
    response: { 204: { description: 'Removed.' }, ...errorAnswers(401, 403, 404, 409, 412) },
  };
  app.delete(rowPath, { schema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const match = request.headers['if-match'] ?? null;
    await http.management.write(actor, publisherId, (work) => removeRow(resource, work, keyOf(request), match));
    return reply.code(204).header('cache-control', 'no-store').send();
  });
}

function restoreRoute({ app, http, resource, rowPath, hooks, tags, params, noun, keyOf }: Routes): void {
  const schema = {
    operationId: `restore${pascal(resource.noun)}`,
    summary: `Restore ${noun}`,
    description: `Restores a row that was removed within the last ${restorableDays} days.`,
    tags,
    params,
    querystring: publisherQuery,
    headers: idempotencyKey,
    response: { 200: answerOf(http, resource), ...errorAnswers(400, 401, 403, 404, 409, 422) },
  };
  app.post(`${rowPath}/restore`, { schema, ...hooks, preHandler: refuseFields }, (request, reply) =>
    post(http, request, reply, async (work) => {
      const row = await restoreRow(resource, work, keyOf(request));
      return rowAnswer(http, resource, work, row, { message: `${capital(resource.noun)} restored.` });
    }),
  );
}

const listAnswer = (view: TObject) =>
  Type.Object({
    data: Type.Array(view),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      title: 'NextCursor',
      description: '`cursor` of the next page, or `null` on the last page.',
    }),
  });

function listQuerySchema(resource: Resource, added: Additions['filters'] = {}): TObject {
  const { filters, searched, sorts, removedAt } = resource;
  const text = (description: string) => Type.Optional(Type.String({ description }));
  return Type.Object({
    limit: integerParameter(
      { minimum: 1, maximum: maxLimit },
      { description: `Rows per page, 1 to ${maxLimit}. Defaults to ${defaultLimit}.` },
    ),
    cursor: text('`next_cursor` of the previous page.'),
    sort: text(`Field to sort by: ${Object.keys(sorts).join(', ')}. Put \`-\` before it for descending order.`),
    ...(searched.length > 0 && { q: text(`Search text. Fields searched: ${searched.join(', ')}.`) }),
    ...Object.fromEntries(filters.map((name) => [name, filterParameter(filterSchema(resource, name))])),
    ...Object.fromEntries(
      Object.entries(added).map(([name, { values }]) => [name, text(`One of ${values.join(', ')}.`)]),
    ),
    ...(removedAt !== undefined && { removed: booleanParameter('`true` lists removed rows instead.') }),
    publisher_id: publisherIdParameter,
  });
}

/**
 * Returns the schema of the query parameter that filters by a column. For a nullable column, the text `null` means
 * null.
 */
function filterParameter(column: TSchema): TSchema {
  const types = choicesOf(column).map(({ type }) => type);
  const type = types.find((name) => name === 'integer' || name === 'boolean');
  if (type === undefined) return Type.Optional(Type.String());
  const schema = types.includes('null') ? { anyOf: [{ type }, { type: 'string', const: 'null' }] } : { type };
  return Type.Optional(Type.String({ [describedAs]: schema }));
}
