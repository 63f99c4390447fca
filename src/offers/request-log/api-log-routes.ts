import { type Static, Type } from '@sinclair/typebox';
import type pg from 'pg';
import type { Caller } from '../../accounts/caller.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Snapshot } from '../../catalog/types.ts';
import { callOf, publisherIdParameter } from '../../management/http.ts';
import { orNull } from '../../management/resource.ts';
import { createFailFast, type DatabaseHealth } from '../../platform/db/health.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { booleanParameter, errorAnswers, integerParameter, noNul } from '../../platform/http/schemas.ts';
import { readCursor, writeCursor } from '../../platform/http/uuid7-cursor.ts';
import { dayMs } from '../../platform/lib/time.ts';
import { slowMs } from './api-log.ts';
import { type ApiLogFilter, apiLogDays, type CallGroup, findApiCalls, findCallGroups } from './api-log-store.ts';

const path = '/manage/v1/api-log';
const tags = ['Decisions'];
const defaultLimit = 50;
const defaultDays = 7;

const text = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, pattern: noNul, description }));

const filterFields = {
  publisher_id: publisherIdParameter,
  days: integerParameter(
    { minimum: 1, maximum: apiLogDays },
    { pattern: '^([1-9]|[12][0-9]|30)$', description: 'Length of the period in days, 1 to 30. Defaults to 7.' },
  ),
  status: Type.Optional(
    Type.String({
      pattern: '^([1-5]([0-9]{2}|xx)|slow)$',
      description:
        'Returns only calls with this status, such as `404` or `4xx`. `slow` returns calls that took a second or more.',
    }),
  ),
  code: text(64, 'Returns only calls with this error code.'),
  route: text(256, 'Returns only calls to this route, such as `/manage/v1/offers/:id`.'),
};
const callsQuery = Type.Object({
  ...filterFields,
  key_id: integerParameter(
    { minimum: 1 },
    { pattern: '^[1-9][0-9]{0,8}$', description: 'Returns only calls made with this key.' },
  ),
  request_id: text(64, 'Returns only the call with this `request_id`.'),
  limit: integerParameter(
    { minimum: 1, maximum: 100 },
    { pattern: '^([1-9][0-9]?|100)$', description: 'Calls per page, 1 to 100. Defaults to 50.' },
  ),
  cursor: Type.Optional(Type.String({ description: '`next_cursor` of the previous page.' })),
});
const groupsQuery = Type.Object({
  ...filterFields,
  all: booleanParameter('Whether to include calls that were neither rejected nor slow. Defaults to false.'),
});

const dateTime = Type.String({ format: 'date-time' });
const code = orNull(Type.String(), { description: 'Error code of a rejected call.' });
const route = Type.String({ description: 'Route with parameter names, such as `/manage/v1/offers/:id`.' });

const callSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    at: dateTime,
    method: Type.String(),
    route,
    path: Type.String({ description: 'Path, with user IDs and parameter values removed.' }),
    status: Type.Integer(),
    ms: Type.Number({ description: 'Time between request and response, in milliseconds.' }),
    code,
    fields: Type.Array(Type.String(), { description: 'Fields that caused the rejection, as JSON pointers.' }),
    request_id: Type.String(),
    key_id: orNull(Type.Integer()),
    key_name: orNull(Type.String(), { description: 'Name of the key, or `null` if it was revoked.' }),
  },
  { title: 'ApiCall' },
);
const groupSchema = Type.Object(
  {
    method: Type.String(),
    route,
    status: Type.Integer(),
    code,
    calls: Type.Integer(),
    slow: Type.Integer({ description: 'Number of calls that took a second or more.' }),
    average_ms: Type.Number(),
    first_at: dateTime,
    last_at: dateTime,
    days: Type.Array(Type.Integer(), { description: 'Calls per 24 hours, oldest first.' }),
  },
  { title: 'ApiCallGroup' },
);

const callsSchema = {
  operationId: 'listApiCalls',
  summary: 'List API calls',
  description:
    "Returns the publisher's calls of the last 30 days, newest first: rejected and slow calls, changes through the " +
    'management API, and a sample of all other calls. If there are very many rejected calls, most are only counted.',
  tags,
  querystring: callsQuery,
  response: {
    200: Type.Object({ message: Type.String(), data: Type.Array(callSchema), next_cursor: orNull(Type.String()) }),
    ...errorAnswers(400, 401, 403, 404),
  },
};
const groupsSchema = {
  operationId: 'listApiCallGroups',
  summary: 'Count API calls',
  description:
    'Counts calls by route and result. Rejected calls come first, then the most frequent ones. Returns at most 100 ' +
    'groups.',
  tags,
  querystring: groupsQuery,
  response: {
    200: Type.Object({ message: Type.String(), data: Type.Array(groupSchema) }),
    ...errorAnswers(400, 401, 403, 404),
  },
};

/** Returns the names of a publisher's current keys by ID. */
export const keyNamesOf = ({ keys }: Snapshot, publisherId: number): Map<number, string> =>
  new Map([...keys.values()].filter((key) => key.publisherId === publisherId).map(({ id, name }) => [id, name]));

/** Maximum number of groups in a response and on the page. */
export const maxGroups = 100;

type ApiLogDeps = {
  pool: pg.Pool;
  dbHealth: DatabaseHealth;
  auth: Authenticator<Caller>;
  catalog: CatalogStore;
  now: () => number;
};

/** Registers the routes that return a publisher's API log (docs/reference/debugging.md#api-log). */
export async function apiLogRoutes(app: App, { pool, dbHealth, auth, catalog, now }: ApiLogDeps): Promise<void> {
  const failFast = createFailFast(dbHealth);
  app.addHook('preValidation', auth.requireKey('configurations', 'accounts'));
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });

  app.get(path, { schema: callsSchema }, async (request) => {
    const { query } = request;
    const { publisherId } = callOf(request);
    const limit = Number(query.limit ?? defaultLimit);
    const before = query.cursor === undefined ? null : readCursor(query.cursor, now());
    const filter = {
      ...filterOf(publisherId, query, now()),
      keyId: query.key_id === undefined ? null : Number(query.key_id),
      requestId: query.request_id ?? null,
    };
    const rows = await failFast(() => findApiCalls(pool, filter, { before, limit: limit + 1, slowMs }));
    const names = keyNamesOf(catalog.current(), publisherId);
    const data = rows.slice(0, limit).map(({ at, requestId, keyId, ...call }) => ({
      ...call,
      at: at.toISOString(),
      request_id: requestId,
      key_id: keyId,
      key_name: keyId === null ? null : (names.get(keyId) ?? null),
    }));
    const last = rows.length > limit ? data.at(-1) : undefined;
    return { message: 'Calls found.', data, next_cursor: last === undefined ? null : writeCursor(last.id) };
  });

  app.get(`${path}/groups`, { schema: groupsSchema }, async (request) => {
    const filter = filterOf(callOf(request).publisherId, request.query, now());
    const options = { untilMs: now(), limit: maxGroups, onlyProblems: request.query.all !== 'true' };
    const groups = await failFast(() => findCallGroups(pool, filter, options));
    return { message: 'Groups found.', data: groups.map(groupView) };
  });
}

function filterOf(publisherId: number, query: Static<typeof groupsQuery>, nowMs: number): ApiLogFilter {
  const { days = String(defaultDays), status = null, code = null, route = null } = query;
  return { publisherId, sinceMs: nowMs - Number(days) * dayMs, status, code, route, keyId: null, requestId: null };
}

const groupView = ({ averageMs, firstAt, lastAt, ...group }: CallGroup) => ({
  ...group,
  average_ms: Math.round(averageMs * 10) / 10,
  first_at: firstAt.toISOString(),
  last_at: lastAt.toISOString(),
});
