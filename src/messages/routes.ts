import { Type } from '@sinclair/typebox';
import { callOf, fieldsOf, type ManagementHttp, publisherQuery, requirePermission, send } from '../management/http.ts';
import { openManagementScope } from '../management/resource-routes.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import type { App } from '../platform/ports.ts';
import { getSettings, setSettings, settingsInput } from './settings.ts';

const tags = ['Perk messages'];
const settingsPath = '/manage/v1/perk-messages/settings';
const listPath = '/manage/v1/perk-messages';

/** The newest messages of a list (count). */
const maxListed = 200;

const messageView = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'The first part of its Message-ID.' }),
    session_id: Type.String({ format: 'uuid' }),
    state: Type.Union(['pending', 'sent', 'failed', 'suppressed'].map((one) => Type.Literal(one))),
    attempts: Type.Integer(),
    error: Type.Union([Type.String(), Type.Null()]),
    created_at: Type.String({ format: 'date-time' }),
    next_attempt_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    finished_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  },
  { title: 'PerkMessage' },
);
const listAnswer = Type.Object({ data: Type.Array(messageView) });
const settingsAnswer = Type.Object(
  { message: Type.String(), data: settingsInput },
  { title: 'PerkMessageSettingsAnswer' },
);

/** E-mails with confirmed perks: whether they are sent, and what became of them. */
export async function messageRoutes(app: App, http: ManagementHttp): Promise<void> {
  openManagementScope(app);
  const hooks = requirePermission(http, 'configurations');
  const shared = { tags, querystring: publisherQuery };

  const getSchema = {
    ...shared,
    operationId: 'getPerkMessageSettings',
    summary: 'Show the settings of perk messages',
    description: 'Whether users who ask for it get their confirmed perks by e-mail, and from whom.',
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
    summary: 'Change the settings of perk messages',
    description: 'Fields that are not sent stay as they are.',
    body: Type.Partial(settingsInput, { title: 'PerkMessageSettingsChange' }),
    response: { 200: settingsAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.patch(settingsPath, { schema: patchSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const data = await http.management.write(actor, publisherId, (work) => setSettings(work, fieldsOf(request)));
    return send(reply, { status: 200, body: { message: 'Settings saved.', data }, headers: {} });
  });

  const listSchema = {
    ...shared,
    operationId: 'listPerkMessages',
    summary: 'List perk messages',
    description: `The newest ${maxListed}, with what became of each. They do not say who it went to.`,
    response: { 200: listAnswer, ...errorAnswers(401, 403, 404) },
  };
  app.get(listPath, { schema: listSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const { rows } = await http.management.read(actor, publisherId, ({ executor }) =>
      executor.query(
        `select id, session_id, state, attempts, error, created_at, due_at as next_attempt_at, finished_at
        from perk_messages where publisher_id = $1 order by id desc limit ${maxListed}`,
        [publisherId],
      ),
    );
    return send(reply, { status: 200, body: { data: rows }, headers: {} });
  });
}
