import { type Static, Type } from '@sinclair/typebox';
import type { Publisher, Snapshot } from '../catalog/types.ts';
import { callOf, type ManagementHttp, publisherQuery, requirePermission } from '../management/http.ts';
import { orNull } from '../management/resource.ts';
import { refuseFields, strictBody } from '../management/strict-body.ts';
import { AppError, notFound } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { errorAnswers, integerParameter } from '../platform/http/schemas.ts';
import { inLanguage } from '../platform/i18n/reader.ts';
import { hourMs } from '../platform/lib/time.ts';
import { problem, readProblem } from '../platform/problem.ts';
import { addTestedChannel, type ChannelDeps, maxNameLength, sendTestMessage } from './channels.ts';
import { describe } from './describe.ts';
import {
  allAlerts,
  findMuteOfAll,
  type InboxAlert,
  listAlerts,
  maxMuteHours,
  maxNoteLength,
  muteAlerts,
} from './inbox.ts';
import { type AlertKind, alertKinds, defaultKinds } from './kinds.ts';
import { type Channel, listChannels, removeChannel, setChannelKinds } from './rules.ts';

const tags = ['Alerts'];
const path = '/manage/v1/alerts';
const channelsPath = '/manage/v1/alert-channels';
const time = Type.String({ format: 'date-time' });

const kind = Type.Union((Object.keys(alertKinds) as AlertKind[]).map((name) => Type.Literal(name)));

const muteView = Type.Object({ until: time, by: Type.String(), note: Type.String() });

const alertView = Type.Object(
  {
    id: Type.Integer(),
    kind,
    subject: Type.String({ description: 'Identifies the affected object, such as by the ID of an endpoint.' }),
    title: Type.String(),
    reason: Type.String(),
    raised_at: time,
    ended_at: orNull(time, {
      title: 'AlertEnd',
      description: 'Time at which the problem ended. `null` if it persists, or if alerts of this kind have no end.',
    }),
    muted: orNull(muteView, {
      title: 'AlertMute',
      description: 'Mute that applies to alerts of the same kind and subject, or `null`.',
    }),
    messages: Type.Array(
      Type.Object(
        {
          channel: orNull(Type.String(), { title: 'AlertChannelName', description: '`null` for an e-mail.' }),
          state: Type.Union((['sent', 'waiting', 'failed'] as const).map((state) => Type.Literal(state))),
          error: orNull(Type.String(), { title: 'AlertMessageError' }),
        },
        { title: 'AlertMessage' },
      ),
      { description: 'Messages about the alert, to channels and users.' },
    ),
  },
  { title: 'Alert' },
);

const listQuery = Type.Object({
  ...publisherQuery.properties,
  kind: Type.Optional(kind),
  cursor: Type.Optional(Type.String({ maxLength: 20, description: '`next_cursor` of the previous page.' })),
  limit: integerParameter(
    { minimum: 1, maximum: 100 },
    { pattern: '^([1-9]\\d?|100)$', description: 'Alerts per page, 1 to 100. Defaults to 50.' },
  ),
});
const listAnswer = Type.Object(
  {
    message: Type.String(),
    data: Type.Array(alertView),
    next_cursor: orNull(Type.String(), { title: 'AlertCursor' }),
    all_muted: orNull(muteView, {
      title: 'AlertMuteOfAll',
      description: 'Mute that applies to all alerts, or `null`.',
    }),
  },
  { title: 'AlertsAnswer' },
);

const muteBody = Type.Object(
  {
    hours: Type.Integer({ minimum: 1, maximum: maxMuteHours, default: 168, description: 'Hours until the mute ends.' }),
    note: Type.String({ maxLength: maxNoteLength, default: '', description: 'Reason, visible to your colleagues.' }),
  },
  { title: 'AlertMuteRequest', additionalProperties: false },
);
const messageAnswer = Type.Object({ message: Type.String() }, { title: 'AlertActionAnswer' });

const channelView = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    kinds: Type.Array(kind, { description: 'Alert kinds that the channel receives.' }),
    error: orNull(Type.String(), {
      title: 'AlertChannelError',
      description: 'Reason why the last message could not be sent, or `null`.',
    }),
  },
  { title: 'AlertChannel' },
);
const channelAnswer = Type.Object({ message: Type.String(), data: channelView }, { title: 'AlertChannelAnswer' });
const channelsAnswer = Type.Object(
  { message: Type.String(), data: Type.Array(channelView) },
  { title: 'AlertChannelsAnswer' },
);
const newChannel = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: maxNameLength }),
    url: Type.String({ maxLength: 2048, description: 'URL of a Slack-compatible webhook. It is never returned.' }),
    kinds: Type.Array(kind, { uniqueItems: true, default: [...defaultKinds] }),
  },
  { title: 'NewAlertChannel', additionalProperties: false },
);
const changedChannel = Type.Object(
  { kinds: Type.Array(kind, { uniqueItems: true }) },
  { title: 'ChangedAlertChannel', additionalProperties: false },
);

const params = Type.Object({ id: Type.String() });
type IdRoute = { Params: Static<typeof params> };
const idOf = ({ id }: Static<typeof params>): number => (/^[1-9]\d{0,14}$/.test(id) ? Number(id) : 0);
/** Returns the ID of an alert, or the ID that stands for all alerts. */
const alertIdOf = (route: Static<typeof params>) => (route.id === allAlerts ? allAlerts : idOf(route));
const channelIdOf = (route: Static<typeof params>): number => (idOf(route) <= 2 ** 31 - 1 ? idOf(route) : 0);

type RouteDeps = ChannelDeps & { http: ManagementHttp; catalog: { current: () => Snapshot } };

/** Registers the routes for alerts (docs/reference/management.md#alerts). */
export async function alertRoutes(app: App, { http, ...deps }: RouteDeps): Promise<void> {
  const hooks = requirePermission(http, 'configurations');
  const { pool, catalog, now } = deps;

  const listSchema = {
    operationId: 'listAlerts',
    summary: 'List alerts',
    description: 'Returns the alerts of the last 90 days, newest first, with the messages that were sent about them.',
    tags,
    querystring: listQuery,
    response: { 200: listAnswer, ...errorAnswers(400, 401, 403) },
  };
  app.get(path, { schema: listSchema, ...hooks }, async (request, reply) => {
    const { publisherId } = callOf(request);
    const {
      kind: kindFilter = null,
      cursor,
      limit,
    } = request.query as { kind?: AlertKind; cursor?: string; limit?: string };
    const count = Number(limit ?? 50);
    if (cursor !== undefined && !/^[1-9]\d{0,14}$/.test(cursor))
      throw new AppError('invalid_request', {
        details: [{ path: '/querystring/cursor', message: problem('noCursor') }],
      });
    const query = { kind: kindFilter, beforeId: cursor === undefined ? null : Number(cursor), limit: count };
    const alerts = await listAlerts(pool, { publisherId, userId: 0 }, query, now());
    const { timeZone } = publisherOf(catalog, publisherId);
    reply.header('cache-control', 'no-store');
    const last = alerts.length < count ? undefined : alerts.at(-1);
    const data = inLanguage('en', () => alerts.map((alert) => viewOf(alert, timeZone)));
    const mute = await findMuteOfAll(pool, publisherId, now());
    return {
      message: 'Alerts found.',
      data,
      next_cursor: last === undefined ? null : String(last.id),
      all_muted: mute && { ...mute, until: mute.until.toISOString() },
    };
  });

  const muteSchema = {
    operationId: 'muteAlert',
    summary: 'Mute an alert',
    description:
      'During the mute, no messages are sent for alerts of the same kind and subject, or for any alert if the ID is ' +
      '`all`. They still appear in the inbox.',
    tags,
    params,
    querystring: publisherQuery,
    body: muteBody,
    response: { 200: messageAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.post<IdRoute>(`${path}/:id/mute`, { schema: muteSchema, ...hooks, ...strictBody }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const { hours, note } = request.body as Static<typeof muteBody>;
    const untilMs = now() + hours * hourMs;
    const mute = {
      publisherId,
      alertId: alertIdOf(request.params),
      untilMs,
      by: actor.label,
      note: note.replaceAll('\0', ''),
    };
    if (!(await muteAlerts(pool, mute, now()))) throw new AppError('resource_not_found');
    return { message: 'Alert muted.' };
  });

  const unmuteSchema = {
    operationId: 'unmuteAlert',
    summary: 'Unmute an alert',
    description: 'Sends messages again for new alerts of the same kind and subject, or for all if the ID is `all`.',
    tags,
    params,
    querystring: publisherQuery,
    response: { 200: messageAnswer, ...errorAnswers(401, 403, 404) },
  };
  const withoutBody = {
    preValidation: [hooks.preValidation]
      .flat()
      .flatMap((hook) => hook ?? [])
      .concat(refuseFields),
  };
  app.post<IdRoute>(`${path}/:id/unmute`, { schema: unmuteSchema, ...withoutBody }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const mute = { publisherId, alertId: alertIdOf(request.params), untilMs: now(), by: actor.label, note: '' };
    if (!(await muteAlerts(pool, mute, now()))) throw new AppError('resource_not_found');
    return { message: 'Alert unmuted.' };
  });

  channelRoutes(app, http, deps);
}

function channelRoutes(app: App, http: ManagementHttp, deps: ChannelDeps & { catalog: RouteDeps['catalog'] }): void {
  const hooks = requirePermission(http, 'configurations');
  const { pool, catalog } = deps;
  const channelIn = async (publisherId: number, id: number): Promise<Channel> => {
    const channel = (await listChannels(pool, publisherId)).find((candidate) => candidate.id === id);
    if (channel === undefined) throw new AppError('resource_not_found');
    return channel;
  };
  const shared = { tags, querystring: publisherQuery };

  const listSchema = {
    ...shared,
    operationId: 'listAlertChannels',
    summary: 'List alert channels',
    description: 'Returns the Slack-compatible webhooks that receive alerts, without their URLs.',
    response: { 200: channelsAnswer, ...errorAnswers(401, 403) },
  };
  app.get(channelsPath, { schema: listSchema, ...hooks }, async (request) => {
    const channels = await listChannels(pool, callOf(request).publisherId);
    return { message: 'Channels found.', data: channels.map(channelViewOf) };
  });

  const createSchema = {
    ...shared,
    operationId: 'createAlertChannel',
    summary: 'Add an alert channel',
    description: 'Sends a test message to the webhook, and adds the channel if the webhook accepts it.',
    body: newChannel,
    response: { 201: channelAnswer, ...errorAnswers(400, 401, 403, 429) },
  };
  app.post(channelsPath, { schema: createSchema, ...hooks, ...strictBody }, async (request, reply) => {
    const { publisherId } = callOf(request);
    const channel = request.body as Static<typeof newChannel>;
    const id = await addTestedChannel(deps, publisherOf(catalog, publisherId), channel);
    reply.code(201);
    return { message: 'Channel added.', data: channelViewOf(await channelIn(publisherId, id)) };
  });

  const getSchema = {
    ...shared,
    operationId: 'getAlertChannel',
    summary: 'Get an alert channel',
    description: 'Returns a channel with the alert kinds that it receives.',
    params,
    response: { 200: channelAnswer, ...errorAnswers(401, 403, 404) },
  };
  app.get<IdRoute>(`${channelsPath}/:id`, { schema: getSchema, ...hooks }, async (request) => {
    const { publisherId } = callOf(request);
    return {
      message: 'Channel found.',
      data: channelViewOf(await channelIn(publisherId, channelIdOf(request.params))),
    };
  });

  const updateSchema = {
    ...shared,
    operationId: 'updateAlertChannel',
    summary: 'Change an alert channel',
    description: 'Sets the alert kinds that the channel receives.',
    params,
    body: changedChannel,
    response: { 200: channelAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.patch<IdRoute>(`${channelsPath}/:id`, { schema: updateSchema, ...hooks, ...strictBody }, async (request) => {
    const { publisherId } = callOf(request);
    const { kinds } = request.body as Static<typeof changedChannel>;
    const id = channelIdOf(request.params);
    await setChannelKinds(pool, { publisherId, id, kinds });
    return { message: 'Channel changed.', data: channelViewOf(await channelIn(publisherId, id)) };
  });

  const testSchema = {
    ...shared,
    operationId: 'testAlertChannel',
    summary: 'Send a test message to an alert channel',
    description: 'Fails with 400 and the reason if the webhook does not accept the message.',
    params,
    response: { 200: messageAnswer, ...errorAnswers(400, 401, 403, 404, 429) },
  };
  const testHooks = { ...hooks, preHandler: refuseFields };
  app.post<IdRoute>(`${channelsPath}/:id/test`, { schema: testSchema, ...testHooks }, async (request) => {
    const { publisherId } = callOf(request);
    const id = channelIdOf(request.params);
    await channelIn(publisherId, id);
    const error = await sendTestMessage(deps, publisherOf(catalog, publisherId), id);
    if (error !== null) throw new AppError('invalid_request', { message: error });
    return { message: 'The channel accepted the test message.' };
  });

  const removeSchema = {
    ...shared,
    operationId: 'removeAlertChannel',
    summary: 'Remove an alert channel',
    description: 'The channel receives no further alerts.',
    params,
    response: { 200: messageAnswer, ...errorAnswers(401, 403, 404) },
  };
  app.delete<IdRoute>(`${channelsPath}/:id`, { schema: removeSchema, ...hooks }, async (request) => {
    const { publisherId } = callOf(request);
    if (!(await removeChannel(pool, publisherId, channelIdOf(request.params))))
      throw new AppError('resource_not_found');
    return { message: 'Channel removed.' };
  });
}

function publisherOf(catalog: RouteDeps['catalog'], id: number): Publisher {
  const publisher = catalog.current().publishers.get(id);
  if (publisher === undefined) throw notFound('publisher');
  return publisher;
}

const errorText = (stored: string | null): string | null => stored && String(readProblem(stored));

const channelViewOf = ({ id, name, kinds, error }: Channel) => ({
  id,
  name,
  kinds: [...kinds],
  error: errorText(error),
});

function viewOf(alert: InboxAlert, timeZone: string) {
  const { title, reason } = describe(alert, timeZone);
  const { id, kind: ofKind, subject, raisedAt, endedAt, mute, messages } = alert;
  return {
    id,
    kind: ofKind,
    subject,
    title,
    reason,
    raised_at: raisedAt.toISOString(),
    ended_at: endedAt?.toISOString() ?? null,
    muted: mute && { ...mute, until: mute.until.toISOString() },
    messages: messages.map((message) => ({ ...message, error: errorText(message.error) })),
  };
}
