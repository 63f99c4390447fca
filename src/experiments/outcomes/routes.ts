import { type Static, Type } from '@sinclair/typebox';
import { isPii } from '../../catalog/names.ts';
import { callOf, type ManagementHttp, publisherQuery, requirePermission, send } from '../../management/http.ts';
import { strictBody } from '../../management/strict-body.ts';
import type { Batcher } from '../../platform/db/batcher.ts';
import { AppError, databaseUnavailable } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { timeOf } from '../../platform/lib/time-zone.ts';
import { toMicros } from '../../platform/money.ts';
import type { UserKeys } from '../../platform/security/user-key.ts';
import { keySchema } from '../configuration/changes.ts';
import { maxOutcomeValue, type Outcome, timeProblemOf } from '../outcome-store.ts';

const text = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[^\\u0000]*$', description });

const body = Type.Object(
  {
    pub_user_id: Type.Union([text(256, "The publisher's non-PII user ID, as in a fetch."), Type.Integer()]),
    name: { ...keySchema, description: 'Name of the outcome, such as `order`.' },
    value: Type.Optional(
      Type.Number({
        minimum: -maxOutcomeValue,
        maximum: maxOutcomeValue,
        description: 'Value of the outcome. Defaults to 1.',
      }),
    ),
    currency: Type.Optional(
      Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217 code, if the value is an amount of money.' }),
    ),
    at: Type.Optional(text(40, 'Time of the outcome, as an RFC 3339 time of the last 30 days. Defaults to now.')),
    id: text(128, 'ID of the outcome. Repeated IDs are counted once.'),
  },
  { title: 'OutcomeInput', additionalProperties: false },
);

const answer = Type.Object(
  { message: Type.String({ description: '`recorded`, or `duplicate` if an outcome with this ID exists.' }) },
  { title: 'OutcomeAnswer' },
);

type Deps = {
  http: ManagementHttp;
  outcomes: Batcher<Outcome, boolean>;
  userKeys: UserKeys;
  isUp: () => boolean;
  now: () => number;
};

/**
 * Registers `POST /manage/v1/outcomes`, through which publishers report later actions of users, including users in
 * hold-outs.
 */
export async function outcomeRoutes(app: App, { http, outcomes, userKeys, isUp, now }: Deps): Promise<void> {
  app.addHook('onClose', outcomes.drain);
  const schema = {
    operationId: 'recordOutcome',
    summary: 'Record an outcome',
    description:
      'Records what a user did after the fetch, such as an order with its value or a return visit. It counts for ' +
      'the experiments that the user was in at that time. Outcomes of unknown users are stored as well, because ' +
      'they may be in a hold-out. Responds with 202 after the commit.',
    tags: ['Experiments'],
    querystring: publisherQuery,
    body,
    response: { 202: answer, ...errorAnswers(400, 401, 403, 404) },
  };
  const hooks = { ...strictBody, ...requirePermission(http, 'reports') };
  app.post('/manage/v1/outcomes', { schema, ...hooks }, async (request, reply) => {
    if (!isUp()) throw databaseUnavailable();
    const { publisherId } = callOf(request);
    const isNew = await outcomes.add(read(request.body as Static<typeof body>, publisherId, userKeys, now()));
    return send(reply, { status: 202, body: { message: isNew ? 'recorded' : 'duplicate' }, headers: {} });
  });
}

/**
 * Parses the request body.
 * @throws AppError invalid_request, pub_user_id_is_pii
 */
function read(
  { pub_user_id, name, value = 1, currency, at, id }: Static<typeof body>,
  publisherId: number,
  userKeys: UserKeys,
  nowMs: number,
): Outcome {
  const identifier = String(pub_user_id);
  if (isPii(identifier)) throw new AppError('pub_user_id_is_pii');
  const atMs = timeOf(at) ?? nowMs;
  const message = timeProblemOf(atMs, nowMs);
  if (message !== null) throw new AppError('invalid_request', { details: [{ path: '/at', message }] });
  const userKey = userKeys.of(publisherId, identifier);
  return {
    publisherId,
    id,
    userKey,
    name,
    valueMicros: toMicros(value),
    currency: currency ?? null,
    atMs,
  };
}
