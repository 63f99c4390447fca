import { Type } from '@sinclair/typebox';
import type pg from 'pg';
import { callOf, fieldsOf, type ManagementHttp, publisherQuery, requirePermission, send } from '../management/http.ts';
import { openManagementScope } from '../management/resource-routes.ts';
import { checkValue, patternProblem } from '../management/schema-errors.ts';
import { refuseFields } from '../management/strict-body.ts';
import type { Executor } from '../platform/db/pool.ts';
import { AppError } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { errorAnswers, integerParameter } from '../platform/http/schemas.ts';
import { readCursor, writeCursor } from '../platform/http/uuid7-cursor.ts';
import { isUuid7 } from '../platform/lib/uuid7.ts';
import { type Problem, problem, readProblem } from '../platform/problem.ts';
import type { ComposeDeps } from './compose.ts';
import { type FailedBecause, failedBecause } from './failure.ts';
import { preview } from './preview.ts';
import { getSettings, setSettings, settingsInput } from './settings.ts';
import { sendAgain, sendAllAgain } from './store.ts';

export const tags = ['Perk messages'];
export const listPath = '/manage/v1/perk-messages';
const settingsPath = `${listPath}/settings`;

/** Maximum number of messages per page. */
const maxListed = 200;

const time = Type.Union([Type.String({ format: 'date-time' }), Type.Null()]);
const messageStates = ['pending', 'unconfirmed', 'sent', 'failed', 'suppressed', 'dropped'] as const;
const messageView = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'ID of the message: the part of its Message-ID before the `@`.' }),
    session_id: Type.String({ format: 'uuid' }),
    kind: Type.Union([Type.Literal('perks'), Type.Literal('reminder')]),
    state: Type.Union(messageStates.map((state) => Type.Literal(state))),
    attempts: Type.Integer(),
    error: Type.Union([Type.String(), Type.Null()]),
    refusal: Type.Union([...failedBecause.map((refusal) => Type.Literal(refusal)), Type.Null()], {
      description:
        'Why the last attempt failed. Only `recipient` (the mailbox does not exist or is disabled) suppresses ' +
        'the address.',
    }),
    reply: Type.Union([Type.String(), Type.Null()], {
      description: 'Reply code and enhanced status code of the mail server, such as `550 5.7.1`.',
    }),
    created_at: Type.String({ format: 'date-time' }),
    next_attempt_at: time,
    finished_at: time,
    can_retry: Type.Boolean({
      description: 'Whether the message can be sent again: it is pending, or it failed within the last 7 days.',
    }),
  },
  { title: 'PerkMessage' },
);
const listAnswer = Type.Object({
  data: Type.Array(messageView),
  next_cursor: Type.Union([Type.String(), Type.Null()], {
    description: '`cursor` of the next page, or `null` on the last page.',
  }),
});
const listQuery = Type.Object(
  {
    ...publisherQuery.properties,
    api_key: Type.Optional(Type.String({ description: 'API key, if it is not in a header.' })),
    state: Type.Optional(Type.Union(messageStates.map((state) => Type.Literal(state)))),
    limit: integerParameter(
      { minimum: 1, maximum: maxListed },
      {
        pattern: '^([1-9]\\d?|1\\d\\d|200)$',
        [patternProblem]: problem('wholeFromOne', { max: maxListed }),
        description: `Messages per page, 1 to ${maxListed}. Defaults to ${maxListed}.`,
      },
    ),
    cursor: Type.Optional(Type.String({ description: '`next_cursor` of the previous page.' })),
  },
  { additionalProperties: false },
);
const settingsAnswer = Type.Object(
  { message: Type.String(), data: settingsInput },
  { title: 'PerkMessageSettingsAnswer' },
);
const previewAnswer = Type.Object({
  data: Type.Object({ language: Type.String(), subject: Type.String(), html: Type.String(), text: Type.String() }),
});

export type MessageRow = {
  id: string;
  session_id: string;
  kind: 'perks' | 'reminder';
  state: (typeof messageStates)[number];
  attempts: number;
  error: Problem | string | null;
  refusal: FailedBecause | null;
  reply: string | null;
  created_at: Date;
  next_attempt_at: Date | null;
  finished_at: Date | null;
  can_retry: boolean;
};

/**
 * Query of the message list. If `state` is null, messages in all states are listed. `below` is the exclusive upper
 * bound for message IDs; null starts with the newest message.
 */
type Listed = { state: MessageRow['state'] | null; below: string | null; limit: number };

const newest: Listed = { state: null, below: null, limit: maxListed };

export async function listMessages(
  executor: Executor,
  publisherId: number,
  { state, below, limit } = newest,
): Promise<MessageRow[]> {
  const { rows } = await executor.query<MessageRow & { error: string | null }>(
    `select id, session_id, kind, state, attempts, error, refusal, reply,
      created_at, due_at as next_attempt_at, finished_at,
      content_sealed is not null and state in ('pending', 'failed') as can_retry
    from perk_messages
    where publisher_id = $1 and ($2::text is null or state = $2) and ($3::uuid is null or id < $3)
    order by id desc limit $4`,
    [publisherId, state, below, limit],
  );
  return rows.map((row) => ({ ...row, error: row.error && readProblem(row.error) }));
}

type RouteDeps = { http: ManagementHttp; deps: ComposeDeps & { pool: pg.Pool; now: () => number } };

/** Registers the routes for perk message settings and the message log. */
export async function messageRoutes(app: App, { http, deps }: RouteDeps): Promise<void> {
  openManagementScope(app);
  const hooks = requirePermission(http, 'configurations');
  const shared = { tags, querystring: publisherQuery };

  const getSchema = {
    ...shared,
    operationId: 'getPerkMessageSettings',
    summary: 'Get the perk message settings',
    description: 'Returns whether users can get their perks by e-mail, and how messages are sent.',
    response: { 200: settingsAnswer, ...errorAnswers(401, 403, 404) },
  };
  app.get(settingsPath, { schema: getSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const data = await http.management.read(actor, publisherId, getSettings);
    return send(reply, { status: 200, body: { message: 'Settings found.', data }, headers: {} });
  });

  const patchSchema = {
    ...shared,
    operationId: 'changePerkMessageSettings',
    summary: 'Change the perk message settings',
    description: 'Omitted fields stay unchanged.',
    body: Type.Partial(settingsInput, { title: 'PerkMessageSettingsChange' }),
    response: { 200: settingsAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.patch(settingsPath, { schema: patchSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const data = await http.management.write(actor, publisherId, (work) => setSettings(work, fieldsOf(request)));
    return send(reply, { status: 200, body: { message: 'Settings saved.', data }, headers: {} });
  });

  const previewSchema = {
    tags,
    operationId: 'previewPerkMessage',
    summary: 'Preview a perk message',
    description: 'Renders a message with sample perks in a language.',
    querystring: Type.Object({
      ...publisherQuery.properties,
      language: Type.Optional(
        Type.String({ maxLength: 35, description: "BCP 47 tag. Defaults to the publisher's language." }),
      ),
    }),
    response: { 200: previewAnswer, ...errorAnswers(401, 403, 404) },
  };
  app.get(`${listPath}/preview`, { schema: previewSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const settings = await http.management.read(actor, publisherId, getSettings);
    const previewRequest = { publisherId, settings, language: request.query.language ?? null };
    const { language, subject, html, text } = preview(deps, previewRequest, deps.now());
    return send(reply, { status: 200, body: { data: { language, subject, html, text } }, headers: {} });
  });

  listRoute(app, http, deps.now);
  retryRoute(app, http);
  retryAllRoute(app, http);
}

function listRoute(app: App, http: ManagementHttp, now: () => number): void {
  const listSchema = {
    tags,
    querystring: listQuery,
    operationId: 'listPerkMessages',
    summary: 'List perk messages',
    description: 'Returns messages with their state, newest first. Recipients are not included.',
    response: { 200: listAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.get(listPath, { schema: listSchema, ...requirePermission(http, 'configurations') }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const details = checkValue(listQuery, request.query);
    if (details.length > 0) throw new AppError('invalid_request', { details });
    const { state = null, limit = maxListed, cursor } = request.query;
    const below = cursor === undefined ? null : readCursor(cursor, now());
    const query = { state, below, limit: Number(limit) };
    const data = await http.management.read(actor, publisherId, ({ executor }) =>
      listMessages(executor, publisherId, query),
    );
    const last = data.length === query.limit ? data.at(-1) : undefined;
    const body = { data, next_cursor: last === undefined ? null : writeCursor(last.id) };
    return send(reply, { status: 200, body, headers: {} });
  });
}

function retryRoute(app: App, http: ManagementHttp): void {
  const retrySchema = {
    tags,
    querystring: publisherQuery,
    operationId: 'retryPerkMessage',
    summary: 'Resend a perk message',
    description: 'Sends a message immediately. It must be pending, or have failed within the last 7 days.',
    params: Type.Object({ id: Type.String({ format: 'uuid' }) }),
    response: { 202: Type.Object({ message: Type.String() }), ...errorAnswers(400, 401, 403, 404) },
  };
  const hooks = { ...requirePermission(http, 'configurations'), preHandler: refuseFields };
  app.post(`${listPath}/:id/retry`, { schema: retrySchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const { id } = request.params;
    await http.management.write(actor, publisherId, (work) => retry(work, id));
    return send(reply, { status: 202, body: { message: 'The message is queued again.' }, headers: {} });
  });
}

function retryAllRoute(app: App, http: ManagementHttp): void {
  const retrySchema = {
    tags,
    querystring: publisherQuery,
    operationId: 'retryFailedPerkMessages',
    summary: 'Resend all failed perk messages',
    description: 'Resends messages that failed within the last 7 days, for example because of a mail server outage.',
    response: {
      202: Type.Object({ message: Type.String(), data: Type.Object({ count: Type.Integer() }) }),
      ...errorAnswers(400, 401, 403, 404),
    },
  };
  const hooks = { ...requirePermission(http, 'configurations'), preHandler: refuseFields };
  app.post(`${listPath}/retry`, { schema: retrySchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const count = await http.management.write(actor, publisherId, retryAll);
    return send(reply, {
      status: 202,
      body: { message: 'The messages are queued again.', data: { count } },
      headers: {},
    });
  });
}

/**
 * Retries all failed messages whose content is still stored.
 * @returns number of messages that will be sent again
 */
export const retryAll = ({ executor, publisherId, nowMs }: Retry): Promise<number> =>
  sendAllAgain(executor, publisherId, nowMs);

type Retry = { executor: Executor; publisherId: number; nowMs: number };

/**
 * Retries a failed or pending message.
 * @throws AppError resource_not_found
 */
export async function retry({ executor, publisherId, nowMs }: Retry, id: string): Promise<void> {
  if (!isUuid7(id) || !(await sendAgain(executor, publisherId, id, nowMs)))
    throw new AppError('resource_not_found', { message: problem('noRetriable') });
}
